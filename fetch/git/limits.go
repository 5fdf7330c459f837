package git

import "time"

// Bounds on what a server may send. Each is far above what any public skill
// repository needs (the largest seen has 17,884 files and a 90 MB pack) and far
// below what could harm the machine.
const (
	maxRefs         = 200_000   // a listing; the largest public repositories have about 100,000 refs
	maxRefName      = 4096      // git's own limit is about this, by the file system
	maxListingBytes = 64 << 20  // maxRefs of usual length, with room
	maxPackBytes    = 1 << 30   // one pack as it travels; it spills to disk beyond spillAt
	spillAt         = 4 << 20   // eight repositories in parallel stay below 64 MiB
	maxObjects      = 1 << 20   // in one pack; the Linux kernel at depth 1 has about 100,000
	maxInflated     = 4 << 30   // all objects of one pack together, as the headers claim
	maxTreeBytes    = 256 << 20 // all trees of one snapshot, kept in memory
	maxObject       = 256 << 20 // one object that has to be in memory: four times the file limit
	maxDeltaDepth   = 4095      // git's own maximum for pack.depth
	maxDeltaLive    = 512 << 20 // objects held at once while a delta chain is resolved
	maxSectionLines = 100_000   // lines before the pack in an answer (shallow-info)
	maxIdlePackets  = 100_000   // of progress without any data: git sends one a second
	maxMessage      = 512       // bytes of a server's message that are shown
	maxRedirects    = 5         // as curl in git: renamed once or twice, then a loop
	maxWants        = 4096      // objects in one request: 200 KB, which every server takes
	maxDeepen       = 10_000    // commits walked back for a locked commit that is no tip
	maxDrain        = 64 << 10  // an error page, or the end of an answer
	maxCachedBlob   = 64 << 10  // a SKILL.md or a link is read again when its skill is loaded
	maxCachedBlobs  = 2 << 20   // … in all, for one snapshot

	connectTimeout = 15 * time.Second       // as long as a slow DNS answer and three SYNs take
	callTimeout    = 15 * time.Minute       // maxPackBytes at 10 Mbit/s
	drainTimeout   = 500 * time.Millisecond // for the end of an answer that has been read; then a new connection is cheaper
	helperTimeout  = 30 * time.Second       // a credential helper that waits for somebody
	reapDelay      = 5 * time.Second        // a program's own helpers may outlive it for a moment
	killDelay      = 50 * time.Millisecond  // a cancelled program is not waited for any longer
)
