package laws

// requestsOf is L6: how many requests a command may make for each repository;
// 0 is none at all if it changes nothing.
var requestsOf = map[string]int{
	"install": 0, "install --frozen": 0, "lock": 0, "remove": 0, "list": 0, "tree": 0, "why": 0, "info": 0, "verify": 0, "doctor": 0,
	"prompt": 0, "sbom": 0, "diff": 0, "resources": 0, "needs": 0, "card": 0, "materialize": 0, "export": 0, "init": 0, "fetch": 0,
	"import --dry-run": 0, "add DIR": 0,
	"outdated": 3, "update --dry-run": 4, "update": 4, "update NAME": 4, "versions": 2,
	"add": 4, "add @RANGE": 4, "add @ref": 4, "add --all": 4, "add @RANGE --all": 4, "add @ref --all": 4,
}
