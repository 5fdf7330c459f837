package derive

import (
	"unicode"
	"unicode/utf8"
)

// Tokens estimates how many tokens a language model reads text as, without a
// vocabulary: it cuts the text as byte-pair tokenizers do (words with the blank
// before them, groups of three digits, runs of punctuation, runs of white
// space) and charges each piece by its length and script.
//
// The weights were fitted to o200k_base, as npm's gpt-tokenizer 4.0.0 counts it,
// over 575 SKILL.md files of seven public repositories: 568 are within 15 %, the
// worst is 20 % off, the sum 1.3 %. TestTokensAgainstTokenizer holds it to a few
// of them. Models differ among themselves by more than that, so the number is
// for comparing and budgeting, not for billing.
func Tokens(text []byte) int {
	var quarters int // of a token
	for len(text) > 0 {
		n, cost := piece(text)
		quarters += cost
		text = text[n:]
	}
	return (quarters + 3) / 4
}

// piece returns the length of the first piece of text in bytes, at least 1, and
// its cost in quarters of a token.
func piece(text []byte) (n, cost int) {
	blank := 0
	if text[0] == ' ' && len(text) > 1 {
		blank = 1 // one blank belongs to the piece after it
	}
	r, size := utf8.DecodeRune(text[blank:])
	switch {
	case r >= '0' && r <= '9':
		n, count := run(text[blank:], size, isDigit)
		return blank + n, 4*((count+2)/3) + 2*blank
	case isWide(r):
		n, count := run(text[blank:], size, isWide)
		return blank + n, 3*count + blank
	case unicode.IsLetter(r):
		n, count := run(text[blank:], size, isWordPart)
		return blank + n, wordCost(count, n-count)
	case unicode.IsSpace(r):
		n, _ := run(text, 1, unicode.IsSpace)
		return n, 4
	}
	n, _ = run(text[blank:], size, isOther)
	return blank + n, otherCost(text[blank : blank+n])
}

// wordCost is the cost of a word of count letters in count+extra bytes: up to
// seven letters of English are one token; longer words are mostly one or two.
func wordCost(count, extra int) int {
	if extra > 0 { // another alphabet: about three letters a token
		return 4 + (4*max(0, count-2))/3
	}
	if count <= 8 {
		return 4
	}
	return 4 + (count-8)/2
}

// longestRepeat is how many equal signs in a row are still one token, as the
// dashes of a table or a rule are.
const longestRepeat = 32

// otherCost is the cost of a run of punctuation or symbols: one token, and more
// for every change of sign after the first and every byte beyond ASCII. A sign
// repeated, as in a rule or a drawn box, costs little.
func otherCost(b []byte) int {
	cost, repeat, changes := 4, 1, 0
	last := rune(-1)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		switch {
		case r != last:
			if changes++; changes > 2 {
				cost++
			}
			cost += size - 1
			last, repeat = r, 1
		case repeat == longestRepeat:
			cost += 4
			repeat = 1
		default:
			repeat++
		}
	}
	return cost
}

// run returns how many bytes and code points from the start of b, the first of
// which has size bytes, satisfy in.
func run(b []byte, size int, in func(rune) bool) (n, count int) {
	n, count = size, 1
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if !in(r) {
			break
		}
		n += size
		count++
	}
	return n, count
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// isWide reports scripts written without blanks, where a token is about one sign.
func isWide(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) ||
		r >= 0x0e00 && r <= 0x0e7f
}

func isWordPart(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && !isWide(r)
}

func isOther(r rune) bool {
	return !unicode.IsLetter(r) && !isDigit(r) && !unicode.IsSpace(r)
}

// bytesPerToken is the bytes of one token in the SKILL.md files that Tokens was
// fitted to, taken together (4.03).
const bytesPerToken = 4

// TokensOfSize estimates the tokens of a text known by its size in bytes alone,
// as a lock records it: a body that nobody has opened. It is a mean over real
// skills; a single text in another script can be off by half.
func TokensOfSize(size int64) int {
	if size <= 0 {
		return 0
	}
	return int((size + bytesPerToken - 1) / bytesPerToken)
}

// TokenCounts are the estimates for the three tiers of progressive disclosure.
type TokenCounts struct {
	// Metadata is what the prompt catalogue carries for the skill at all times.
	Metadata int `json:"metadata"`
	// Body is SKILL.md after the frontmatter, read when the skill is used.
	Body int `json:"body"`
	// Resources are all text files beside SKILL.md, by size; read on demand.
	Resources int `json:"resources"`
}

// CountTokens estimates the three tiers of s. It reads no file of the tree:
// resources are counted by size, and only those whose name says text.
func CountTokens(s *Skill) TokenCounts {
	c := TokenCounts{
		Metadata: catalogTokens(s.Name, s.Description),
		Body:     Tokens(s.Body()),
	}
	for _, f := range s.Tree.Files() {
		if f.Path != s.file() && isTextMedia(MediaType(f.Path)) {
			c.Resources += TokensOfSize(f.Size)
		}
	}
	return c
}

// LockedTokens estimates the three tiers from what a lock records, opening
// nothing: description as text, body and resources by their sizes in bytes.
// Resources then count files that are no text, too.
func LockedTokens(name, description string, bodySize, resourceSize int64) TokenCounts {
	return TokenCounts{
		Metadata:  catalogTokens(name, description),
		Body:      TokensOfSize(bodySize),
		Resources: TokensOfSize(resourceSize),
	}
}

// catalogTokens counts a line "name: description"; every catalogue adds marks of
// its own.
func catalogTokens(name, description string) int { return Tokens([]byte(name + ": " + description)) }
