package signing

import "github.com/skillpm/skillpm/skill"

// skillContent holds a signature against a skill's staged tree.
type skillContent struct {
	name   string
	tree   *skill.Tree
	parsed *statement
}

func (c *skillContent) signature(b *bundle, key *publicKey) bool {
	return key.verify(pae(b.payloadType, b.payload), b.sig)
}

func (c *skillContent) statement(b *bundle) *fault {
	s, f := parseStatement(b)
	if f != nil {
		return f
	}
	c.parsed = s
	return s.checkName(c.name)
}

func (c *skillContent) compare(tolerate []glob) *fault {
	return c.parsed.compare(c.tree, tolerate)
}
