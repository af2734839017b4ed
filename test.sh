#!/usr/bin/env bash
# Runs the checks of this module: ./test.sh [step…]. Without arguments all steps but "slow", as CI does.
#
#   format      gofmt
#   module      go.mod and go.sum are tidy
#   vet         go vet, for Linux, macOS and Windows
#   staticcheck staticcheck
#   test        go test ./...
#   race        go test -race -short ./...
#   fuzz        every fuzz target for some thousand inputs
#   cross       builds without cgo and for other systems
#   slow        the tests that take minutes, in the packages that have a flag -slow
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.7.0
readonly fuzztime=5000x # a number of inputs: at the end of a time, go test can fail for no reason

step_format() {
	local files
	files=$(gofmt -l .)
	if [[ -n $files ]]; then
		echo "not formatted by gofmt:" $files
		return 1
	fi
}

step_module() { go mod tidy -diff; }

step_vet() {
	go vet ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet ./...
}

step_staticcheck() { go run "$staticcheck" ./...; }

step_test() { go test -timeout 20m ./...; }

step_race() { go test -race -short -timeout 20m ./...; }

# fuzz_targets prints "package target" for each fuzz target.
fuzz_targets() {
	local list line package name names=()
	list=$(go test -list '^Fuzz' ./...)
	while read -r line; do
		case $line in
		Fuzz*) names+=("$line") ;;
		ok*)
			read -r _ package _ <<<"$line"
			for name in ${names[@]+"${names[@]}"}; do echo "$package $name"; done
			names=()
			;;
		esac
	done <<<"$list"
}

step_fuzz() {
	local targets package name
	targets=$(fuzz_targets)
	while read -r package name; do
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" "$package" </dev/null
	done <<<"$targets"
}

step_cross() {
	CGO_ENABLED=0 go build ./...
	local target
	for target in darwin/arm64 windows/amd64 linux/arm64; do
		GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go build ./...
	done
}

step_slow() {
	local files
	files=$(grep -rl --include='*_test.go' 'flag.Bool("slow"' .)
	go test -timeout 60m -v $(dirname $files | sort -u) -slow
}

steps=("$@")
((${#steps[@]})) || steps=(format module vet staticcheck test race fuzz cross)
for step in "${steps[@]}"; do
	[[ $(type -t "step_$step") == function ]] || { echo "test.sh: no step $step" >&2; exit 2; }
	echo "=== $step"
	start=$SECONDS
	"step_$step"
	echo "=== $step: ok, $((SECONDS - start)) s"
done
