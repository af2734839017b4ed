package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzInputFile: an error, or a document that is the same when it is written and read again; never a panic.
func FuzzInputFile(f *testing.F) {
	window, err := json.Marshal(postFile{
		RegisteredProof: "StackedDrgWindow2KiBV1_2", Sectors: []postSector{{ID: 7, Vanilla: []byte{1}}},
	})
	require.NoError(f, err)
	snap, err := json.Marshal(updateFile{RegisteredProof: "StackedDrg2KiBV1", Vanilla: [][]byte{{1}, {}}})
	require.NoError(f, err)
	for _, isToVerify := range []bool{false, true} { // short ones, because shortening what is found takes long
		f.Add(false, isToVerify, window)
		f.Add(true, isToVerify, snap)
		f.Add(true, isToVerify, snap[:len(snap)-3])
		f.Add(true, isToVerify, append(snap[:len(snap):len(snap)], "{}"...))
		f.Add(false, isToVerify, []byte(`{"more":[1.5e3,null,{"more":"\u00e9"}],"sectors":[],"partitions":2,`))
	}
	f.Fuzz(func(t *testing.T, isUpdate, isToVerify bool, data []byte) {
		u := toProve
		if isToVerify {
			u = toVerify
		}
		if isUpdate {
			fuzzUpdate(t, data, u)
		} else {
			fuzzPoSt(t, data, u)
		}
	})
}

func fuzzPoSt(t *testing.T, data []byte, u use) {
	var d, again postDocument
	if decodeJSON(bytes.NewReader(data), u, func(r *jsonReader) error { return d.read(r, kindWindowPoSt) }) != nil {
		return
	}
	s := &d.statement
	file := postFile{
		RegisteredProof: s.Proof.String(), Randomness: s.Randomness, FirstPartition: s.FirstPartition, Partitions: s.Partitions,
		Sectors: []postSector{},
	}
	for i, x := range s.Sectors {
		file.Sectors = append(file.Sectors, postSector{ID: x.ID, CommR: x.CommR, Vanilla: append([]byte{}, d.vanilla[i]...)})
	}
	text, err := json.Marshal(file)
	require.NoError(t, err)
	err = decodeJSON(bytes.NewReader(text), toProve, func(r *jsonReader) error { return again.read(r, kindWindowPoSt) })
	require.NoError(t, err)
	require.Equal(t, d.statement, again.statement)
	require.Len(t, again.vanilla, len(d.vanilla))
	for i := range d.vanilla {
		require.True(t, bytes.Equal(d.vanilla[i], again.vanilla[i]))
	}
}

func fuzzUpdate(t *testing.T, data []byte, u use) {
	var d, again updateDocument
	if decodeJSON(bytes.NewReader(data), u, d.read) != nil {
		return
	}
	s := &d.statement
	text, err := json.Marshal(updateFile{
		RegisteredProof: s.Proof.String(), CommROld: s.CommROld, CommRNew: s.CommRNew, CommDNew: s.CommDNew,
		Vanilla: append([][]byte{}, d.vanilla...),
	})
	require.NoError(t, err)
	require.NoError(t, decodeJSON(bytes.NewReader(text), toProve, again.read))
	require.Equal(t, d, again)
}
