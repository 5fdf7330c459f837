package derive

// Weights of evidence that is no phrase.
const (
	toolWeight  = 0.9 // a tool the author declares
	fileWeight  = 0.6 // a script in the skill
	fenceWeight = 0.5 // a code block in a language that is run
)

// phraseRule says that a phrase, in lower case and as whole words, suggests a
// need. 0.6 is a plain instruction, 0.3 a word that has other uses too.
type phraseRule struct {
	kind   NeedKind
	phrase string
	weight float64
}

var phraseRules = []phraseRule{
	{NeedWebSearch, "web search", 0.7},
	{NeedWebSearch, "websearch", 0.7},
	{NeedWebSearch, "search the web", 0.8},
	{NeedWebSearch, "search online", 0.6},
	{NeedWebSearch, "google for", 0.5},
	{NeedWebSearch, "search engine", 0.4},

	{NeedWebBrowse, "webfetch", 0.7},
	{NeedWebBrowse, "web fetch", 0.6},
	{NeedWebBrowse, "fetch the url", 0.7},
	{NeedWebBrowse, "fetch the page", 0.7},
	{NeedWebBrowse, "open the page", 0.5},
	{NeedWebBrowse, "browse to", 0.6},
	{NeedWebBrowse, "browser automation", 0.6},
	{NeedWebBrowse, "playwright", 0.5},
	{NeedWebBrowse, "puppeteer", 0.5},
	{NeedWebBrowse, "selenium", 0.5},
	{NeedWebBrowse, "http request", 0.5},
	{NeedWebBrowse, "requests.get", 0.6},
	{NeedWebBrowse, "curl", 0.5},
	{NeedWebBrowse, "wget", 0.5},
	{NeedWebBrowse, "internet access", 0.6},
	{NeedWebBrowse, "network access", 0.5},

	{NeedWorkspaceWrite, "write the file", 0.6},
	{NeedWorkspaceWrite, "write to the file", 0.6},
	{NeedWorkspaceWrite, "write the output to", 0.6},
	{NeedWorkspaceWrite, "write the result", 0.5},
	{NeedWorkspaceWrite, "create a file", 0.6},
	{NeedWorkspaceWrite, "create the file", 0.6},
	{NeedWorkspaceWrite, "create a new file", 0.6},
	{NeedWorkspaceWrite, "edit the file", 0.6},
	{NeedWorkspaceWrite, "modify the file", 0.6},
	{NeedWorkspaceWrite, "update the file", 0.5},
	{NeedWorkspaceWrite, "save the file", 0.6},
	{NeedWorkspaceWrite, "save to", 0.4},
	{NeedWorkspaceWrite, "save it to", 0.5},
	{NeedWorkspaceWrite, "save as", 0.4},
	{NeedWorkspaceWrite, "output file", 0.3},

	{NeedScriptRun, "run the script", 0.8},
	{NeedScriptRun, "execute the script", 0.8},
	{NeedScriptRun, "run scripts/", 0.8},
	{NeedScriptRun, "python scripts/", 0.85},
	{NeedScriptRun, "python3 scripts/", 0.85},
	{NeedScriptRun, "node scripts/", 0.85},
	{NeedScriptRun, "bash scripts/", 0.85},
	{NeedScriptRun, "sh scripts/", 0.85},
	{NeedScriptRun, "./scripts/", 0.7},
	{NeedScriptRun, "uv run", 0.6},
	{NeedScriptRun, "python -m", 0.6},
	{NeedScriptRun, "python3 -m", 0.6},
	{NeedScriptRun, "python -c", 0.6},
	{NeedScriptRun, "requires python", 0.5},

	{NeedShell, "run the command", 0.6},
	{NeedShell, "run the following command", 0.7},
	{NeedShell, "run this command", 0.6},
	{NeedShell, "execute the command", 0.6},
	{NeedShell, "in the terminal", 0.5},
	{NeedShell, "command line", 0.3},
	{NeedShell, "shell command", 0.6},
	{NeedShell, "bash command", 0.6},
	{NeedShell, "git clone", 0.5},
	{NeedShell, "git commit", 0.5},
	{NeedShell, "npm run", 0.6},
	{NeedShell, "npm install", 0.6},
	{NeedShell, "pip install", 0.6},
	{NeedShell, "docker run", 0.6},
	{NeedShell, "kubectl", 0.6},

	{NeedMCP, "mcp server", 0.7},
	{NeedMCP, "mcp tool", 0.7},
	{NeedMCP, "mcp tools", 0.7},
	{NeedMCP, "model context protocol", 0.6},
	{NeedMCP, "mcp", 0.4},
}

// fenceNeeds maps the language of a code block to the need it hints at.
var fenceNeeds = map[string]NeedKind{
	"bash": NeedShell, "sh": NeedShell, "shell": NeedShell, "zsh": NeedShell, "console": NeedShell, "powershell": NeedShell,
	"python": NeedScriptRun, "py": NeedScriptRun,
}

// toolNeeds maps declared tools, by the names common agents give them.
var toolNeeds = map[string]NeedKind{
	"websearch": NeedWebSearch, "web_search": NeedWebSearch, "google_web_search": NeedWebSearch,
	"webfetch": NeedWebBrowse, "web_fetch": NeedWebBrowse, "browser": NeedWebBrowse, "fetch": NeedWebBrowse,
	"write": NeedWorkspaceWrite, "edit": NeedWorkspaceWrite, "multiedit": NeedWorkspaceWrite, "notebookedit": NeedWorkspaceWrite,
	"write_file": NeedWorkspaceWrite, "apply_patch": NeedWorkspaceWrite, "replace": NeedWorkspaceWrite,
	"bash": NeedShell, "shell": NeedShell, "terminal": NeedShell, "run_shell_command": NeedShell, "execute": NeedShell,
	"python": NeedScriptRun, "code_interpreter": NeedScriptRun, "code_execution": NeedScriptRun,
}

// fieldNeeds maps frontmatter fields outside the specification, in lower case.
var fieldNeeds = map[string]NeedKind{
	"mcp": NeedMCP, "mcpservers": NeedMCP, "mcp-servers": NeedMCP,
	"allow-scripts": NeedScriptRun,
}
