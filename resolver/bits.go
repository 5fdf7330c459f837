package resolver

import "math/bits"

// set is a bitset over a name's domain: bit 0 is "not in the solution", bit i+1
// the i-th candidate. All sets over one name have the same number of words.
type set []uint64

func wordsFor(n int) int { return (n + 63) / 64 }

func (s set) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s set) add(i int)      { s[i>>6] |= 1 << (i & 63) }

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

func (s set) within(t set) bool {
	for i, w := range s {
		if w&^t[i] != 0 {
			return false
		}
	}
	return true
}

func (s set) meets(t set) bool {
	for i, w := range s {
		if w&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s set) clone() set { return append(set(nil), s...) }

func (s set) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// first returns the lowest bit at or after from, or -1.
func (s set) first(from int) int {
	for i := from >> 6; i < len(s); i++ {
		w := s[i]
		if i == from>>6 {
			w &= ^uint64(0) << (from & 63)
		}
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// full returns the set of n bits.
func full(n int) set {
	s := make(set, wordsFor(n))
	for i := range s {
		s[i] = ^uint64(0)
	}
	if r := n & 63; r != 0 {
		s[len(s)-1] = 1<<r - 1
	}
	return s
}

// without returns s without t.
func (s set) without(t set) set {
	r := make(set, len(s))
	for i, w := range s {
		r[i] = w &^ t[i]
	}
	return r
}
