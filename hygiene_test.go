package cuzk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gocuzk/cuzk"

// importRules say which packages of the module a package may import: the longest entry that fits counts. An entry that
// ends in a slash is a tree of packages without its root; "." is the root package. Tests are free to import more.
func importRules() map[string][]string {
	public := []string{"groth16", "pce", "circuits", "circuits/", "device"}
	return map[string][]string{
		".":         append(public, "internal/nilvalue", "internal/parallel", "internal/queue"),
		"examples/": append(public, ".", "internal/synth"),
		// bench measures parts of proofs, which have no public API, and the engine with rows that no circuit has.
		"examples/bench": append(public, ".", "internal/synth", "internal/peerinputs", "internal/gpu", "internal/kernels",
			"internal/engine", "internal/engine/gpu", "internal/srs", "internal/parallel"),

		"pce":       {"internal/wire"},
		"circuits":  {"pce"},
		"circuits/": {"pce", "circuits", "circuits/", "internal/poseidon", "internal/sectorsize", "internal/vanilla"},
		"device":    {"internal/gpu"},
		"groth16": {"pce", "circuits", "device", "internal/gpu", "internal/engine", "internal/engine/", "internal/srs", "internal/wire",
			"internal/blinding", "internal/hostmem", "internal/nilvalue", "internal/parallel", "internal/urgency"},

		// Leaves.
		"internal/blinding":   nil,
		"internal/cudrv":      nil,
		"internal/hostmem":    nil,
		"internal/invariants": nil,
		"internal/nilvalue":   nil,
		"internal/parallel":   nil,
		"internal/poseidon":   nil,
		"internal/queue":      nil,
		"internal/sectorsize": nil,
		"internal/urgency":    nil,
		"internal/wire":       nil,

		"internal/circuittest":       {"pce", "internal/sectorsize"},
		"internal/peerinputs":        {"internal/parallel"},
		"internal/synth":             {"circuits/", "internal/poseidon"},
		"internal/vanilla":           {"circuits/gadget"},
		"internal/srs":               {"internal/wire", "internal/hostmem", "internal/parallel"},
		"internal/engine":            {"pce", "internal/srs"},
		"internal/engine/affine":     {"internal/parallel"},
		"internal/engine/cpu":        {"pce", "internal/engine", "internal/engine/affine", "internal/srs", "internal/wire", "internal/hostmem", "internal/parallel"},
		"internal/engine/enginetest": {"pce", "internal/engine", "internal/srs", "internal/wire", "internal/parallel"},
		"internal/engine/gpu":        {"pce", "internal/engine", "internal/srs", "internal/wire", "internal/hostmem", "internal/parallel", "internal/kernels", "internal/gpu", "internal/urgency"},
		"internal/kernels":           {"pce", "internal/gpu"},
		"internal/vectortest":        {"pce", "circuits", "circuits/", "internal/engine/enginetest"},
		"internal/gputest":           {"device", "internal/gpu", "internal/kernels", "internal/cudrv", "internal/cudrv/fakedrv"},
		"internal/gpu":               {"internal/cudrv", "internal/hostmem", "internal/urgency"},
		"internal/cudrv/fakedrv":     {"internal/cudrv"},
	}
}

// allowedModules are what go.mod may require directly; the first ones in tests and test helpers only.
var (
	testModules    = []string{"github.com/klauspost/compress", "github.com/stretchr/testify"}
	allowedModules = append(slices.Clip(testModules), "github.com/NVIDIA/go-nvml", "github.com/consensys/gnark-crypto",
		"golang.org/x/crypto", "golang.org/x/sync", "golang.org/x/sys")
)

type goPackage struct {
	ImportPath                               string
	Imports, Deps, TestGoFiles, XTestGoFiles []string
}

// rel is the package's path in the module, "." for the root.
func (p *goPackage) rel() string {
	rel, _ := ownImport(p.ImportPath)
	return rel
}

// testHelper tells whether only tests import the package.
func (p *goPackage) testHelper() bool { return strings.HasSuffix(p.ImportPath, "test") }

// goCommand runs the go command in the module's root.
func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %v: %s", args, &stderr)
	return out
}

// packages are the module's packages with the packages they need.
func packages(t *testing.T) []*goPackage {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(goCommand(t, "list", "-deps", "-json", "./...")))
	var own []*goPackage
	for {
		p := new(goPackage)
		err := d.Decode(p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if _, ok := ownImport(p.ImportPath); ok {
			own = append(own, p)
		}
	}
	require.NotEmpty(t, own)
	return own
}

// ownImport is the import's path in the module if it is of the module.
func ownImport(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// matches tells whether an entry of the import rules fits a package.
func matches(entry, pkg string) bool {
	return entry == pkg || strings.HasSuffix(entry, "/") && strings.HasPrefix(pkg, entry)
}

// ruleFor is the longest entry that fits.
func ruleFor(rules map[string][]string, pkg string) (entry string, ok bool) {
	for e := range rules {
		if matches(e, pkg) && (!ok || len(e) > len(entry)) {
			entry, ok = e, true
		}
	}
	return entry, ok
}

func TestImports(t *testing.T) {
	rules := importRules()
	for _, p := range packages(t) {
		entry, ok := ruleFor(rules, p.rel())
		if !ok {
			t.Errorf("%s: no import rule; add one to importRules", p.rel())
			continue
		}
		for _, i := range p.Imports {
			if own, ok := ownImport(i); ok {
				fits := func(e string) bool { return matches(e, own) }
				if !slices.ContainsFunc(rules[entry], fits) {
					t.Errorf("%s must not import %s", p.rel(), own)
				}
			} else if slices.ContainsFunc(testModules, func(m string) bool { return strings.HasPrefix(i, m) }) && !p.testHelper() {
				t.Errorf("%s: %s is for tests", p.rel(), i)
			}
		}
	}
}

// Whatever way an import takes, constraint systems and circuits stay free of drivers and provers.
func TestCircuitsReachNoDriver(t *testing.T) {
	for _, p := range packages(t) {
		if p.rel() != "pce" && p.rel() != "circuits" && !strings.HasPrefix(p.rel(), "circuits/") {
			continue
		}
		for _, d := range p.Deps {
			own, ok := ownImport(d)
			if ok && (own == "groth16" || own == "device" || own == "." || matches("internal/gpu", own) ||
				strings.HasPrefix(own, "internal/cudrv") || strings.HasPrefix(own, "internal/engine")) {
				t.Errorf("%s reaches %s", p.rel(), own)
			}
		}
	}
}

// sourceFile is a parsed Go file, whatever its build constraints are.
type sourceFile struct {
	name string // slash-separated, from the root
	*ast.File
}

func (f *sourceFile) test() bool  { return strings.HasSuffix(f.name, "_test.go") }
func (f *sourceFile) dir() string { return path.Dir(f.name) }

// files are the names of the module's files, slash-separated, without test data and hidden files.
func files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci"
		if d.IsDir() && (hidden || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && !hidden {
			names = append(names, name)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

func sources(t *testing.T) []*sourceFile {
	t.Helper()
	var out []*sourceFile
	set := token.NewFileSet()
	for _, name := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parser.ParseFile(set, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		out = append(out, &sourceFile{name, f})
	}
	return out
}

func (f *sourceFile) imports(pkg string) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == strconv.Quote(pkg) })
}

func TestOnlyTheDriverImportsC(t *testing.T) {
	for _, f := range sources(t) {
		if f.imports("C") && f.dir() != "internal/cudrv" {
			t.Errorf("%s imports C", f.name)
		}
	}
}

func TestOnePackageCommentEach(t *testing.T) {
	comments := map[string][]string{}
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		names := comments[f.dir()]
		if f.Doc != nil {
			names = append(names, f.name)
		}
		comments[f.dir()] = names
	}
	for dir, names := range comments {
		if len(names) != 1 {
			t.Errorf("package in %s: package comments in %v, want exactly one", dir, names)
		}
	}
}

// Libraries take options, not the environment.
func TestLibrariesReadNoEnvironment(t *testing.T) {
	for _, f := range sources(t) {
		if f.test() || f.Name.Name == "main" || !f.imports("os") {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if ok && x.Name == "os" && slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, s.Sel.Name) {
				t.Errorf("%s uses os.%s", f.name, s.Sel.Name)
			}
			return true
		})
	}
}

// ./test.sh finds fuzz targets with go test -list, which sees what is built here.
func TestFuzzTargetsRun(t *testing.T) {
	built := map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			built[path.Join(p.rel(), name)] = true
		}
	}
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() && strings.HasPrefix(fn.Name.Name, "Fuzz") && !built[f.name] {
				t.Errorf("%s: build constraints keep %s from the fuzz step", f.name, fn.Name.Name)
			}
		}
	}
	script := read(t, "test.sh")
	require.Contains(t, script, "go test -list '^Fuzz' ./...")
	require.Contains(t, script, "go test -run '^$' -fuzz ")
	require.Contains(t, script, "steps=(format module vet staticcheck test race fuzz cross)")
	require.Contains(t, read(t, ".ci/run"), "exec ./test.sh\n")
}

func TestFilesAreFinishedAndOfReadableLength(t *testing.T) {
	const maxLines = 700
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}
	code := []string{".go", ".c", ".cc", ".cu", ".cuh", ".h", ".hpp", ".sh", ".s"}
	for _, name := range files(t) {
		if !slices.Contains(code, path.Ext(name)) {
			continue
		}
		lines := 0
		s := bufio.NewScanner(strings.NewReader(read(t, name)))
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			lines++
			for _, m := range marks {
				if strings.Contains(s.Text(), m) {
					t.Errorf("%s:%d: %s", name, lines, m)
				}
			}
		}
		require.NoError(t, s.Err(), name)
		if lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", name, lines, maxLines)
		}
	}
}

func TestModule(t *testing.T) {
	var mod struct {
		Module  struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace, Exclude []any
	}
	require.NoError(t, json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod))
	require.Equal(t, module, mod.Module.Path)
	require.Empty(t, mod.Replace)
	require.Empty(t, mod.Exclude)
	for _, r := range mod.Require {
		if !r.Indirect && !slices.Contains(allowedModules, r.Path) {
			t.Errorf("go.mod requires %s, which is not among the allowed modules", r.Path)
		}
	}
}

func TestLicense(t *testing.T) {
	text := strings.Join(strings.Fields(read(t, "LICENSE")), " ")
	require.True(t, strings.HasPrefix(text, "Apache License Version 2.0, January 2004"))
	require.Contains(t, text, "END OF TERMS AND CONDITIONS")
}

// The commands of the README are those that exist and that CI runs.
func TestReadmeCommands(t *testing.T) {
	readme := read(t, "README.md")
	for _, command := range []string{"go run ./examples/bench single --type porep --c1 testdata/porep-2KiB.c1.json", "./test.sh", "./test.sh slow"} {
		require.Contains(t, readme, "\n    "+command+"\n")
	}
	_, code, ok := strings.Cut(readme, "```go\n")
	require.True(t, ok)
	code, _, ok = strings.Cut(code, "```\n")
	require.True(t, ok)
	require.Contains(t, read(t, "example_test.go"), code, "the README's code is that of the example")
	for _, name := range []string{"test.sh", ".ci/run"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o100, "%s is not executable", name)
	}
	for _, name := range []string{"testdata/porep-2KiB.c1.json", "RATIONALE.md", "CHANGELOG.md", "BENCHMARKS.md"} {
		require.FileExists(t, name)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return string(b)
}
