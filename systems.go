package cuzk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/internal/nilvalue"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/pce"
)

// Systems are the constraint systems of circuits, which go by their names: a circuit of your own that is changed needs
// another name. Each is loaded from a folder or, where it is not there, recorded once: by one of all goroutines and of all
// processes that ask for it at a time. What was loaded stays in memory, some 25 MB for the largest circuit. Without a
// folder that can be written to it works from memory, with one warning. Systems may be used by several goroutines.
type Systems struct {
	dir string // empty: memory only
	log *slog.Logger

	mu     sync.Mutex
	loaded map[string]*pce.System // by circuit
	loads  map[string]*systemLoad // that are under way
	warned bool
}

// systemLoad is one load for all who wait for it. It ends when none of them is left.
type systemLoad struct {
	cancel  context.CancelCauseFunc
	waiting int // of Systems.mu
	done    chan struct{}
	system  *pce.System // valid when done is closed
	err     error       // likewise
}

// staleTemporary is the age from which a half-written file counts as left behind by a process that has died.
const staleTemporary = time.Hour

// NewSystems returns the systems in dir, which is made when it is needed; empty is "cuzk" in the user's cache folder. log
// receives warnings; nil means none.
func NewSystems(dir string, log *slog.Logger) *Systems {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Systems{dir: dir, log: log, loaded: map[string]*pce.System{}, loads: map[string]*systemLoad{}}
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			s.warn("no cache folder", err)
			return s
		}
		s.dir = filepath.Join(cache, "cuzk")
	}
	return s
}

// Open returns the constraint system of a circuit, of which only name and structure count. A file that is damaged or of
// another version is replaced. Errors are those of [pce.Record]; none is remembered. When ctx ends, context.Cause(ctx) is
// returned; a recording that nobody else waits for has been stopped then.
func (s *Systems) Open(ctx context.Context, blank circuits.Circuit) (*pce.System, error) {
	return s.open(ctx, blank, func(*pce.System) error { return nil })
}

// open is Open of a system that fits, if a circuit of its name has one: what was loaded and does not is recorded anew, and what
// was recorded and does not is kept nowhere, and answered with the reason.
func (s *Systems) open(ctx context.Context, blank circuits.Circuit, fits func(*pce.System) error) (*pce.System, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if nilvalue.Is(blank) {
		return nil, fmt.Errorf("%w: no circuit", ErrTask)
	}
	name := blank.Name()
	if err := checkName(name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	system := s.loaded[name]
	s.mu.Unlock()
	if system != nil && fits(system) == nil {
		return system, nil
	}
	s.mu.Lock()
	l := s.loads[name]
	if l == nil {
		l = s.begin(ctx, name, blank, fits)
	}
	l.waiting++
	s.mu.Unlock()

	select {
	case <-l.done:
		return l.system, l.err
	case <-ctx.Done():
		s.leave(name, l, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

// checkName refuses a circuit's name that can't be the name of a file on any system, in the folder that it is meant for.
func checkName(name string) error {
	const longest = 200 // with extensions below the 255 of most file systems
	if name == "" || len(name) > longest || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\:*?\"<>|\x00") {
		return fmt.Errorf("%w: a file can't be called after circuit %q", ErrTask, name)
	}
	return nil
}

// begin starts a load. The caller holds the lock.
func (s *Systems) begin(
	ctx context.Context, name string, blank circuits.Circuit, fits func(*pce.System) error,
) *systemLoad {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	l := &systemLoad{cancel: cancel, done: make(chan struct{})}
	s.loads[name] = l
	go func() {
		defer close(l.done)
		defer cancel(nil)
		l.err = parallel.Apart(func() (err error) { // circuits are the caller's code
			l.system, err = s.load(ctx, name, blank.Synthesize, fits)
			return err
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.loads[name] == l {
			delete(s.loads, name)
		}
		if l.err == nil {
			s.loaded[name] = l.system
		}
	}()
	return l
}

// leave gives up waiting for a load. The last one ends it, and sees to it that nothing goes on.
func (s *Systems) leave(name string, l *systemLoad, cause error) {
	s.mu.Lock()
	l.waiting--
	last := l.waiting == 0
	if last && s.loads[name] == l {
		delete(s.loads, name)
	}
	s.mu.Unlock()
	if last {
		l.cancel(cause)
		<-l.done
	}
}

// load reads the file or, if there is none that can be used, records the system and writes the file.
func (s *Systems) load(
	ctx context.Context, name string, synthesize func(pce.Builder) error, fits func(*pce.System) error,
) (*pce.System, error) {
	fitting := func(system *pce.System, err error) (*pce.System, error) {
		if err == nil {
			err = fits(system)
		}
		if err != nil {
			return nil, err
		}
		return system, nil
	}
	if s.dir == "" {
		return fitting(pce.Record(ctx, name, synthesize, nil))
	}
	path := filepath.Join(s.dir, fileName(name))
	system, err := fitting(pce.Open(path, name))
	if err == nil {
		return system, nil
	}
	unlock, lockErr := s.lock(ctx, path)
	if lockErr == nil {
		defer unlock()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// Another process may have written it by now.
	if system, err = fitting(pce.Open(path, name)); err == nil {
		return system, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("constraint system is recorded anew", "circuit", name, "err", err)
	}
	if system, err = fitting(pce.Record(ctx, name, synthesize, nil)); err != nil {
		return nil, err
	}
	if err := system.WriteFile(path); err != nil {
		s.warn("constraint systems are kept in memory only", errors.Join(err, lockErr))
	} else if lockErr != nil {
		s.warn("constraint systems are recorded without a lock", lockErr)
	}
	return system, nil
}

// fileName is the name of the file of a circuit's constraint system.
func fileName(circuit string) string { return fmt.Sprintf("%s.%d.pce", circuit, circuits.Revision) }

// lock makes the folder, waits until nobody else records the file at path, and removes what those who died have left.
func (s *Systems) lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err = lockFile(ctx, path+".lock")
	if err == nil {
		removeStale(path)
	}
	return unlock, err
}

// removeStale removes temporary files that a process left which died while it wrote the file at path.
func removeStale(path string) {
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*"))
	if err != nil {
		return
	}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleTemporary {
			os.Remove(name) // if it can't be removed, it stays
		}
	}
}

// warn logs the first trouble with the folder.
func (s *Systems) warn(what string, err error) {
	s.mu.Lock()
	first := !s.warned
	s.warned = true
	s.mu.Unlock()
	if first {
		s.log.Warn(what, "folder", s.dir, "err", err)
	}
}
