// Package queue decides which partition a card works on next.
//
// It is a structure without goroutines, clocks or locks: the caller brings the time and says what the cards are like, so
// that the same calls give the same answers.
//
// Jobs wait in classes. The most urgent class goes first, and within a class the job that came first, partition by
// partition. Four things bend this order:
//
//   - Aging: a job that has waited for some time counts as one of the next class, so that none waits for ever.
//   - Preference: a card may take a job behind the first one if it can start that sooner, since its key is loaded, but
//     passes over the same first job only so many times, all cards together.
//   - Deference: a card leaves a partition to another one that is idle and can start it sooner.
//   - Exclusion: a partition is not offered to cards it has failed on.
package queue
