package install

// Counters returns what looking at the disk for this plan took.
func (p *Plan) Counters() Counters { return p.cost }
