package diag

// Code is a permanent snake_case word that names one kind of finding. Programs
// match on it; texts may change.
type Code string

// Info is what the code table says of a Code.
type Info struct {
	Code    Code
	Exit    int    // exit status when it is the worst finding of a run
	Kind    string // problem, finding, refusal, failure, warning, note, usage, bug or interrupt
	Where   string // the commands that can report it
	Meaning string // one line, lower case; docs/errors.md says more
}

// The codes. A code is never renamed and never reused; docs/errors.md has an
// entry for each, and a script in cmd/skillpm/testdata provokes it.
const (
	AllowedToolsShape              Code = "allowed_tools_shape"
	BodyEmpty                      Code = "body_empty"
	BodyLong                       Code = "body_long"
	BodyTokens                     Code = "body_tokens"
	CaseCollision                  Code = "case_collision"
	ChainEscapes                   Code = "chain_escapes"
	ChainOptionUnused              Code = "chain_option_unused"
	ChainOptionValue               Code = "chain_option_value"
	ChainUnchecked                 Code = "chain_unchecked"
	CompatibilityEmpty             Code = "compatibility_empty"
	CompatibilityNotString         Code = "compatibility_not_string"
	CompatibilityTooLong           Code = "compatibility_too_long"
	DependencyDigest               Code = "dependency_digest"
	DependencyName                 Code = "dependency_name"
	DependencyRange                Code = "dependency_range"
	DescriptionEmpty               Code = "description_empty"
	DescriptionMarkup              Code = "description_markup"
	DescriptionMissing             Code = "description_missing"
	DescriptionNotString           Code = "description_not_string"
	DescriptionTooLong             Code = "description_too_long"
	FieldClientExtension           Code = "field_client_extension"
	FieldUnknown                   Code = "field_unknown"
	FileLarge                      Code = "file_large"
	FrontmatterBom                 Code = "frontmatter_bom"
	FrontmatterMissing             Code = "frontmatter_missing"
	FrontmatterNotClosed           Code = "frontmatter_not_closed"
	FrontmatterNotMapping          Code = "frontmatter_not_mapping"
	LicenseFileMissing             Code = "license_file_missing"
	LicenseNotString               Code = "license_not_string"
	MetadataMany                   Code = "metadata_many"
	MetadataNotMapping             Code = "metadata_not_mapping"
	MetadataValueNotString         Code = "metadata_value_not_string"
	NameCharset                    Code = "name_charset"
	NameEmpty                      Code = "name_empty"
	NameHyphenDouble               Code = "name_hyphen_double"
	NameHyphenEdge                 Code = "name_hyphen_edge"
	NameMissing                    Code = "name_missing"
	NameNotAscii                   Code = "name_not_ascii"
	NameNotDirectory               Code = "name_not_directory"
	NameReservedHost               Code = "name_reserved_host"
	NameReservedWindows            Code = "name_reserved_windows"
	NameTooLong                    Code = "name_too_long"
	NestedSkill                    Code = "nested_skill"
	NoSkillFound                   Code = "no_skill_found"
	NonstandardManifest            Code = "nonstandard_manifest"
	NotUtf8                        Code = "not_utf8"
	NulByte                        Code = "nul_byte"
	PathMissing                    Code = "path_missing"
	PathNotDirectory               Code = "path_not_directory"
	ReferenceEscapes               Code = "reference_escapes"
	ReferenceMissing               Code = "reference_missing"
	ScalarNotString                Code = "scalar_not_string"
	SkillFileCase                  Code = "skill_file_case"
	SkillFileNotRegular            Code = "skill_file_not_regular"
	SymlinkDangling                Code = "symlink_dangling"
	SymlinkEscapes                 Code = "symlink_escapes"
	SymlinkLoop                    Code = "symlink_loop"
	TrainingPath                   Code = "training_path"
	TrainingRuntimeNames           Code = "training_runtime_names"
	TrainingSchema                 Code = "training_schema"
	TrainingSkillName              Code = "training_skill_name"
	TrainingSuiteMissing           Code = "training_suite_missing"
	TrainingSyntax                 Code = "training_syntax"
	YamlAlias                      Code = "yaml_alias"
	YamlBlockScalar                Code = "yaml_block_scalar"
	YamlDuplicateKey               Code = "yaml_duplicate_key"
	YamlFlow                       Code = "yaml_flow"
	YamlInvalid                    Code = "yaml_invalid"
	YamlTag                        Code = "yaml_tag"
	LengthBytesOver                Code = "length_bytes_over"
	SkillUnlocked                  Code = "skill_unlocked"
	YamlAnchor                     Code = "yaml_anchor"
	DelegateReserved               Code = "delegate_reserved"
	SubskillUnresolved             Code = "subskill_unresolved"
	SubskillCycleDetected          Code = "subskill_cycle_detected"
	DigestMismatch                 Code = "digest_mismatch"
	AmbiguousSkill                 Code = "ambiguous_skill"
	AmbiguousVersion               Code = "ambiguous_version"
	NoVersions                     Code = "no_versions"
	FloatingDependency             Code = "floating_dependency"
	RequirementSyntax              Code = "requirement_syntax"
	SourceNotAllowed               Code = "source_not_allowed"
	NameCollision                  Code = "name_collision"
	NameNeeded                     Code = "name_needed"
	NameReserved                   Code = "name_reserved"
	ResolutionBudgetExceeded       Code = "resolution_budget_exceeded"
	ConsentRequired                Code = "consent_required"
	TrustLevelRefused              Code = "trust_level_refused"
	TagsMixed                      Code = "tags_mixed"
	CatalogOver32                  Code = "catalog_over_32"
	LockOutdated                   Code = "lock_outdated"
	LockCorrupt                    Code = "lock_corrupt"
	LockVersion                    Code = "lock_version"
	LockForeign                    Code = "lock_foreign"
	ManifestForeign                Code = "manifest_foreign"
	ManifestInvalid                Code = "manifest_invalid"
	ManifestMissing                Code = "manifest_missing"
	RepositoryNotFoundOrPrivate    Code = "repository_not_found_or_private"
	FetchAuth                      Code = "fetch_auth"
	FetchTimeout                   Code = "fetch_timeout"
	FetchOffline                   Code = "fetch_offline"
	FetchFailed                    Code = "fetch_failed"
	FetchTooLarge                  Code = "fetch_too_large"
	RefNotFound                    Code = "ref_not_found"
	SkillNotFound                  Code = "skill_not_found"
	CommitGone                     Code = "commit_gone"
	TagMoved                       Code = "tag_moved"
	SourceRepointed                Code = "source_repointed"
	SkillHeld                      Code = "skill_held"
	HostKeyUnknown                 Code = "host_key_unknown"
	HostRefused                    Code = "host_refused"
	PackInvalid                    Code = "pack_invalid"
	LfsPointer                     Code = "lfs_pointer"
	SubmoduleInSkill               Code = "submodule_in_skill"
	PathUnsafe                     Code = "path_unsafe"
	TreeTooLarge                   Code = "tree_too_large"
	InstallConflict                Code = "install_conflict"
	TargetUnsafe                   Code = "target_unsafe"
	DiskFull                       Code = "disk_full"
	PermissionDenied               Code = "permission_denied"
	ProjectLocked                  Code = "project_locked"
	CacheCorrupt                   Code = "cache_corrupt"
	VerifyChanged                  Code = "verify_changed"
	VerifyMissing                  Code = "verify_missing"
	VerifyExtra                    Code = "verify_extra"
	PolicyInvalid                  Code = "policy_invalid"
	PolicyNoMatch                  Code = "policy_no_match"
	TrustRootInvalid               Code = "trust_root_invalid"
	TrustRootStale                 Code = "trust_root_stale"
	MirrorIncomplete               Code = "mirror_incomplete"
	MirrorInvalid                  Code = "mirror_invalid"
	Usage                          Code = "usage"
	Internal                       Code = "internal"
	Interrupted                    Code = "interrupted"
	SignatureMissing               Code = "signature_missing"
	SignatureMalformed             Code = "signature_malformed"
	SignatureUnsupported           Code = "signature_unsupported"
	SignatureTooLarge              Code = "signature_too_large"
	SignatureMethodNotAllowed      Code = "signature_method_not_allowed"
	SignatureUntrustedRoot         Code = "signature_untrusted_root"
	SignatureLogUnknown            Code = "signature_log_unknown"
	SignatureLogUnverified         Code = "signature_log_unverified"
	SignatureLogMissing            Code = "signature_log_missing"
	SignatureNoTrustedTime         Code = "signature_no_trusted_time"
	SignatureCertNotValidAtSigning Code = "signature_cert_not_valid_at_signing"
	SignatureCertExpired           Code = "signature_cert_expired"
	SignatureCertNotYetValid       Code = "signature_cert_not_yet_valid"
	SignatureKeyExpired            Code = "signature_key_expired"
	SignatureKeyUnknown            Code = "signature_key_unknown"
	SignatureSctUnverified         Code = "signature_sct_unverified"
	SignatureInvalid               Code = "signature_invalid"
	SignatureDigestMismatch        Code = "signature_digest_mismatch"
	SignatureStatementType         Code = "signature_statement_type"
	SignatureIssuerMismatch        Code = "signature_issuer_mismatch"
	SignatureIdentityMismatch      Code = "signature_identity_mismatch"
	SignatureExtensionMismatch     Code = "signature_extension_mismatch"
	SignatureRevoked               Code = "signature_revoked"
	SignatureContentChanged        Code = "signature_content_changed"
	SignatureContentMissing        Code = "signature_content_missing"
	SignatureContentUnsigned       Code = "signature_content_unsigned"
	SignatureDowngraded            Code = "signature_downgraded"
	SignatureSignerChanged         Code = "signature_signer_changed"
	SignatureNameMismatch          Code = "signature_name_mismatch"
	ChainAmbiguous                 Code = "chain_ambiguous"
	ChainDepthExceeded             Code = "chain_depth_exceeded"
	ReceiptVersion                 Code = "receipt_version"
	OverrideActive                 Code = "override_active"
	OverrideUnused                 Code = "override_unused"
	VersionRetracted               Code = "version_retracted"
	TagGone                        Code = "tag_gone"
	RegistryChanged                Code = "registry_changed"
	RepositoryMoved                Code = "repository_moved"
	IndexEntrySkipped              Code = "index_entry_skipped"
	OlderChosen                    Code = "older_chosen"
	KeyNotName                     Code = "key_not_name"
	Unsigned                       Code = "unsigned"
	SignerUnverified               Code = "signer_unverified"
	SignatureExpiredSince          Code = "signature_expired_since"
	FrontmatterRepaired            Code = "frontmatter_repaired"
	VersionDiffers                 Code = "version_differs"
	MirrorListing                  Code = "mirror_listing"
	ManifestExists                 Code = "manifest_exists"
	DiskFailed                     Code = "disk_failed"
	CacheLocked                    Code = "cache_locked"
	ValueCut                       Code = "value_cut"
	VersionNotSemver               Code = "version_not_semver"
	HiddenUnicode                  Code = "hidden_unicode"
	SiblingUndeclared              Code = "sibling_undeclared"
	CarriesHostConfig              Code = "carries_host_config"
	TagExists                      Code = "tag_exists"
	WorktreeDirty                  Code = "worktree_dirty"
	VersionsHidden                 Code = "versions_hidden"
	KeyNotIgnored                  Code = "key_not_ignored"
	PlaceholderLeft                Code = "placeholder_left"
	GitFailed                      Code = "git_failed"
	SkillShadowed                  Code = "skill_shadowed"
	SkillGitRules                  Code = "skill_git_rules"
	AgentUnserved                  Code = "agent_unserved"
	RunUnfinished                  Code = "run_unfinished"
	ProgramMissing                 Code = "program_missing"
	ImportUnreadable               Code = "import_unreadable"
	ImportNothing                  Code = "import_nothing"
	ImportSkipped                  Code = "import_skipped"
	ImportNote                     Code = "import_note"
)

// table is in the order of the constants.
var table = []Info{
	{AllowedToolsShape, 0, "note", "validate", "allowed-tools is a list, or is separated by commas"},
	{BodyEmpty, 0, "note", "validate", "there is nothing after the frontmatter"},
	{BodyLong, 0, "note", "validate", "the body has more than 500 lines"},
	{BodyTokens, 0, "note", "validate", "the body is estimated at more than 5,000 tokens"},
	{CaseCollision, 0, "note", "validate", "two paths in the skill differ only in case or in Unicode normalisation"},
	{ChainEscapes, 2, "problem", "validate", "a member of metadata.chain is not below the chain's own parent directory"},
	{ChainOptionUnused, 0, "note", "validate", "an option has no effect with the others"},
	{ChainOptionValue, 2, "problem", "validate", "an option of a chain has a value that is none of the allowed ones"},
	{ChainUnchecked, 0, "note", "validate", "the members of the chain were not looked up"},
	{CompatibilityEmpty, 2, "problem", "validate", "the compatibility field is blank"},
	{CompatibilityNotString, 2, "problem", "validate", "the compatibility field is not text"},
	{CompatibilityTooLong, 2, "problem", "validate", "the compatibility field has more than 500 characters"},
	{DependencyDigest, 2, "problem", "validate", "a digest pin is not sha256: and 64 lower-case hex digits"},
	{DependencyName, 2, "problem", "validate", "a key skillpm.requires.NAME in a SKILL.md names no legal skill"},
	{DependencyRange, 2, "problem", "validate", "the version range of a requirement in a SKILL.md cannot be read"},
	{DescriptionEmpty, 2, "problem", "validate", "the description is blank"},
	{DescriptionMarkup, 0, "note", "validate", "the description holds something like an XML or HTML tag"},
	{DescriptionMissing, 2, "problem", "validate", "there is no description field"},
	{DescriptionNotString, 2, "problem", "validate", "the description is a list or a mapping"},
	{DescriptionTooLong, 2, "problem", "validate", "the description has more than 1024 characters"},
	{FieldClientExtension, 0, "note", "validate", "a top-level field belongs to one agent and is no part of the specification"},
	{FieldUnknown, 0, "note", "validate", "a top-level field is none the specification knows"},
	{FileLarge, 0, "note", "validate", "SKILL.md is larger than 64 KiB"},
	{FrontmatterBom, 2, "problem", "validate", "the file begins with a byte order mark, so its first line is not --- for strict readers"},
	{FrontmatterMissing, 2, "problem", "validate", "the file does not begin with a line of three hyphens"},
	{FrontmatterNotClosed, 2, "problem", "validate", "the frontmatter has no closing line of three hyphens"},
	{FrontmatterNotMapping, 2, "problem", "validate", "the frontmatter is YAML, but no mapping of fields"},
	{LicenseFileMissing, 0, "note", "validate", "the license names a file that is not in the skill"},
	{LicenseNotString, 0, "note", "validate", "the license is not text"},
	{MetadataMany, 0, "note", "validate", "metadata has more than 32 entries"},
	{MetadataNotMapping, 2, "problem", "validate", "metadata is no mapping"},
	{MetadataValueNotString, 0, "note", "validate", "a value in metadata is a list, a mapping or a number"},
	{NameCharset, 2, "problem", "validate", "the name holds a character other than a-z, 0-9 and hyphen"},
	{NameEmpty, 2, "problem", "validate", "the name is blank"},
	{NameHyphenDouble, 2, "problem", "validate", "the name has two hyphens in a row"},
	{NameHyphenEdge, 2, "problem", "validate", "the name begins or ends with a hyphen"},
	{NameMissing, 2, "problem", "validate", "there is no name field"},
	{NameNotAscii, 2, "problem", "validate", "the name holds a letter outside a-z"},
	{NameNotDirectory, 2, "problem", "validate", "the name differs from the name of the directory"},
	{NameReservedHost, 0, "note", "validate", "the name is one that an agent keeps for itself (claude, anthropic, synced)"},
	{NameReservedWindows, 0, "note", "validate", "the name is a device on Windows, such as con or aux"},
	{NameTooLong, 2, "problem", "validate", "the name has more than 64 characters"},
	{NestedSkill, 0, "note", "validate", "there is another SKILL.md below this skill"},
	{NoSkillFound, 2, "problem", "validate", "there is no SKILL.md anywhere below the directory"},
	{NonstandardManifest, 0, "note", "validate", "the skill's root holds a manifest of another system, such as skill.yaml or agently.skill.json"},
	{NotUtf8, 2, "problem", "validate", "the file holds bytes that are not UTF-8"},
	{NulByte, 2, "problem", "validate", "the file holds a NUL byte"},
	{PathMissing, 2, "problem", "validate", "the path given to validate or inspect does not exist"},
	{PathNotDirectory, 2, "problem", "validate", "the path is a file that is not a SKILL.md"},
	{ReferenceEscapes, 0, "note", "validate", "the body links to a file outside the skill"},
	{ReferenceMissing, 0, "note", "validate", "the body links to a file that is not there"},
	{ScalarNotString, 0, "note", "validate", "a number, boolean or null stands where text is expected"},
	{SkillFileCase, 2, "problem", "validate", "the skill file is spelled skill.md, Skill.md or alike"},
	{SkillFileNotRegular, 2, "problem", "validate", "SKILL.md is a directory, a device or another thing that is no regular file"},
	{SymlinkDangling, 2, "problem", "validate", "a link points to nothing"},
	{SymlinkEscapes, 2, "problem", "validate", "a link points outside"},
	{SymlinkLoop, 2, "problem", "validate", "a link leads back to itself or to a directory that contains it"},
	{TrainingPath, 2, "problem", "validate", "the path of a suite is absolute, climbs out with .. or leaves the skill through a link"},
	{TrainingRuntimeNames, 2, "problem", "validate", "training.zon has mode runtime and names an adapter or suites"},
	{TrainingSchema, 2, "problem", "validate", "training.zon is for another schema or version"},
	{TrainingSkillName, 2, "problem", "validate", "training.zon names another skill"},
	{TrainingSuiteMissing, 2, "problem", "validate", "a suite that the mode needs is missing"},
	{TrainingSyntax, 2, "problem", "validate", "training.zon cannot be read"},
	{YamlAlias, 2, "problem", "validate", "the frontmatter uses a YAML alias (*name) or a merge key (<<)"},
	{YamlBlockScalar, 0, "note", "validate", "the description is a YAML block (| or >)"},
	{YamlDuplicateKey, 2, "problem", "validate", "a field stands twice"},
	{YamlFlow, 0, "note", "validate", "a value is written in flow style, [a, b] or {a: b}"},
	{YamlInvalid, 2, "problem", "validate", "the frontmatter is not YAML"},
	{YamlTag, 2, "problem", "validate", "the frontmatter uses an explicit YAML tag (!!binary, !custom)"},
	{LengthBytesOver, 0, "note", "validate", "within the limit in characters, over it in bytes"},
	{SkillUnlocked, 2, "finding", "verify --strict", "a skill in a target that no lock names"},
	{YamlAnchor, 2, "problem", "validate", "anchors and aliases"},
	{DelegateReserved, 2, "refusal", "resolve", "delegate: is reserved"},
	{SubskillUnresolved, 2, "refusal", "resolve", "no candidate, or no combination; see reason"},
	{SubskillCycleDetected, 2, "refusal", "resolve", "skills require each other"},
	{DigestMismatch, 2, "refusal", "resolve, fetch, install", "content is not what was pinned or locked"},
	{AmbiguousSkill, 2, "refusal", "add, resolve", "several skills match"},
	{AmbiguousVersion, 2, "refusal", "resolve", "one version, two commits"},
	{NoVersions, 2, "refusal", "resolve", "a range on a source without version tags"},
	{FloatingDependency, 2, "refusal", "resolve", "a ref inside a dependency"},
	{RequirementSyntax, 2, "refusal", "manifest, validate", "malformed requirement"},
	{SourceNotAllowed, 2, "refusal", "resolve", "a repository the project has not approved"},
	{NameCollision, 2, "refusal", "resolve, install", "two skills for one key"},
	{NameNeeded, 2, "refusal", "add", "no legal key can be derived"},
	{NameReserved, 2, "refusal", "install", "a name the host reserved"},
	{ResolutionBudgetExceeded, 2, "refusal", "resolve", "search gave up"},
	{ConsentRequired, 2, "refusal", "update, add, run", "a change needs a yes and there is no terminal"},
	{TrustLevelRefused, 2, "refusal", "install", "policy allows no such arrival"},
	{TagsMixed, 0, "note", "add, outdated", "newer repository-wide tags beside skill tags"},
	{CatalogOver32, 0, "note", "list, install", "more skills than some runtimes show"},
	{LockOutdated, 3, "finding", "lock --check, install --frozen", "manifest and lock differ"},
	{LockCorrupt, 2, "refusal", "any", "not a readable lock"},
	{LockVersion, 2, "refusal", "any", "written by a newer skillpm"},
	{LockForeign, 2, "refusal", "any", "another tool's file"},
	{ManifestForeign, 2, "refusal", "any", "another tool's file"},
	{ManifestInvalid, 2, "refusal", "any", "syntax, unknown key, wrong type"},
	{ManifestMissing, 2, "refusal", "any", "no skills.toml upward from here"},
	{RepositoryNotFoundOrPrivate, 1, "failure", "fetch", "no answer without credentials"},
	{FetchAuth, 1, "failure", "fetch", "credentials refused"},
	{FetchTimeout, 1, "failure", "fetch", "the server did not answer in time"},
	{FetchOffline, 1, "failure", "fetch", "offline and not at hand"},
	{FetchFailed, 1, "failure", "fetch", "server or network fault"},
	{FetchTooLarge, 2, "refusal", "fetch", "over a limit"},
	{RefNotFound, 2, "refusal", "fetch", "no such branch, tag or commit"},
	{SkillNotFound, 2, "refusal", "fetch", "no SKILL.md at that path"},
	{CommitGone, 1, "failure", "fetch", "the locked commit cannot be had"},
	{SourceRepointed, 2, "refusal", "update", "a registry names another source than the lock"},
	{SkillHeld, 2, "refusal", "update", "skills.toml holds the skill at its locked version"},
	{TagMoved, 2, "refusal", "fetch, update", "the tag names another commit than the lock"},
	{HostKeyUnknown, 2, "refusal", "fetch", "ssh host not in known_hosts"},
	{HostRefused, 2, "refusal", "fetch", "private or plaintext host not named by the user"},
	{PackInvalid, 2, "refusal", "fetch", "objects do not match their ids"},
	{LfsPointer, 2, "refusal", "fetch", "a file is a pointer, not content"},
	{SubmoduleInSkill, 2, "refusal", "fetch, validate, tag", "part of the skill is in another repository"},
	{PathUnsafe, 2, "refusal", "fetch, install", "a path no tree may hold"},
	{TreeTooLarge, 2, "refusal", "fetch, install", "over a limit"},
	{InstallConflict, 2, "refusal", "install", "local edits or a foreign directory in the way"},
	{TargetUnsafe, 2, "refusal", "install", "target outside the project"},
	{DiskFull, 1, "failure", "install", "the disk is full"},
	{PermissionDenied, 1, "failure", "install", "the operating system forbids reading or writing a file"},
	{ProjectLocked, 1, "failure", "any", "another run did not end in time"},
	{CacheCorrupt, 0, "note", "any", "rebuilt"},
	{VerifyChanged, 2, "finding", "verify", "an installed file differs from the lock"},
	{VerifyMissing, 2, "finding", "verify", "a locked file or skill is not installed"},
	{VerifyExtra, 2, "finding", "verify", "an installed skill holds a file that is not in the lock"},
	{PolicyInvalid, 2, "refusal", "trust", "a trust policy cannot be read, or could not mean what it says"},
	{PolicyNoMatch, 2, "refusal", "trust test", "no rule matches the skill"},
	{TrustRootInvalid, 2, "refusal", "verify", "the file of trusted authorities cannot be used"},
	{TrustRootStale, 0, "note", "verify", "the trusted root was not refreshed for a long time"},
	{MirrorIncomplete, 2, "finding", "mirror verify", "the mirror lacks something that a lock needs"},
	{MirrorInvalid, 2, "refusal", "mirror", "the mirror cannot be read, or holds something else than it says"},
	{Usage, 64, "usage", "any", "the command line cannot be understood"},
	{Internal, 70, "bug", "any", "a mistake of skillpm"},
	{Interrupted, 130, "interrupt", "any", "the run was interrupted"},
	{SignatureMissing, 2, "refusal", "verify, install", "a rule requires a signature, and there is none"},
	{SignatureMalformed, 2, "refusal", "verify, install", "the signature file cannot be read"},
	{SignatureUnsupported, 2, "refusal", "verify, install", "the signature is of a kind or version this skillpm does not know"},
	{SignatureTooLarge, 2, "refusal", "verify, install", "the signature file is larger than the limit"},
	{SignatureMethodNotAllowed, 2, "refusal", "verify, install", "the skill is signed in a way that no matching rule allows"},
	{SignatureUntrustedRoot, 2, "refusal", "verify, install", "the certificate does not lead to a root that you trust"},
	{SignatureLogUnknown, 2, "refusal", "verify, install", "the transparency log of the entry is not among the trusted ones"},
	{SignatureLogUnverified, 2, "refusal", "verify, install", "the log entry's proof or promise does not verify"},
	{SignatureLogMissing, 2, "refusal", "verify, install", "the signature has no log entry, and one is required"},
	{SignatureNoTrustedTime, 2, "refusal", "verify, install", "nothing trustworthy says when the signature was made"},
	{SignatureCertNotValidAtSigning, 2, "refusal", "verify, install", "the certificate was not valid when the signature was made"},
	{SignatureCertExpired, 2, "refusal", "verify, install", "the certificate has expired, and the signature is not the one the lock holds"},
	{SignatureCertNotYetValid, 2, "refusal", "verify, install", "the certificate is not valid yet"},
	{SignatureKeyExpired, 2, "refusal", "verify, install", "the key was outside the time in which the rule accepts it"},
	{SignatureKeyUnknown, 2, "refusal", "verify, install", "the signature was made with a key that no rule names"},
	{SignatureSctUnverified, 2, "refusal", "verify, install", "the certificate was not shown to a certificate log, or the proof of it fails"},
	{SignatureInvalid, 2, "refusal", "verify, install", "the signature does not verify under its own key"},
	{SignatureDigestMismatch, 2, "refusal", "verify, install", "the statement was made for another tree"},
	{SignatureStatementType, 2, "refusal", "verify, install", "the signed statement is of another type than a skill's signature"},
	{SignatureIssuerMismatch, 2, "refusal", "verify, install", "another authority vouched for the identity than the rule names"},
	{SignatureIdentityMismatch, 2, "refusal", "verify, install", "the signer is another one than the rule names"},
	{SignatureExtensionMismatch, 2, "refusal", "verify, install", "repository, ref or runner in the certificate differ from the rule"},
	{SignatureRevoked, 2, "refusal", "verify, install", "the signer, key or digest is on a deny list"},
	{SignatureContentChanged, 2, "refusal", "verify, install", "a file differs from what was signed"},
	{SignatureContentMissing, 2, "refusal", "verify, install", "a signed file is not there"},
	{SignatureContentUnsigned, 2, "refusal", "verify, install", "there is a file that the signature does not cover"},
	{SignatureDowngraded, 2, "refusal", "verify, install", "the locked version was signed, this one is not"},
	{SignatureSignerChanged, 2, "refusal", "verify, install", "the signer is another than the locked one"},
	{SignatureNameMismatch, 2, "refusal", "verify, install", "the statement names another skill"},
	{ChainAmbiguous, 2, "problem", "validate, resolve", "two skills answer to a chain member"},
	{ChainDepthExceeded, 2, "refusal", "resolve", "nesting beyond max_depth"},
	{ReceiptVersion, 2, "refusal", "install", "written by a newer skillpm"},
	{OverrideActive, 0, "warning", "resolve", "an override is in effect"},
	{OverrideUnused, 0, "warning", "resolve", "an override names nothing in the graph"},
	{VersionRetracted, 0, "warning", "resolve", "locked or named exactly, but withdrawn"},
	{TagGone, 0, "warning", "outdated, update", "the locked tag no longer exists"},
	{IndexEntrySkipped, 0, "note", "fetch", "an entry of a discovery index that cannot be used"},
	{RepositoryMoved, 0, "warning", "fetch", "the server redirected to another address"},
	{RegistryChanged, 0, "warning", "resolve", "a registry now names another source"},
	{OlderChosen, 0, "warning", "add, update", "a newer version exists but would move others"},
	{KeyNotName, 0, "note", "add, install", "key differs from the declared name"},
	{Unsigned, 0, "note", "install, verify", "the skill has no signature, and no rule asks for one"},
	{SignerUnverified, 0, "note", "install, verify", "signed, but nothing configured anchors the signer"},
	{SignatureExpiredSince, 0, "warning", "install, verify", "expired after it was locked"},
	{FrontmatterRepaired, 0, "warning", "install", "a value was quoted in memory to be readable"},
	{VersionDiffers, 0, "note", "install", "the tag and SKILL.md name different versions; the tag decides"},
	{MirrorListing, 0, "note", "add, update, lock", "versions were read from a mirror, not from the repository"},
	{ManifestExists, 2, "refusal", "init", "skills.toml is already there"},
	{DiskFailed, 1, "failure", "any", "the file system refused a call for another reason than space or rights"},
	{CacheLocked, 0, "note", "any", "another run held the cache's index; the run went on without it"},
	{ValueCut, 0, "note", "validate", "a YAML comment ends a value early"},
	{VersionNotSemver, 0, "note", "validate", "metadata.skillpm.version is no strict semantic version"},
	{HiddenUnicode, 0, "note", "validate", "characters that a reader does not see, or that reorder text"},
	{SiblingUndeclared, 0, "note", "validate", "mentions a skill beside it without requiring it"},
	{CarriesHostConfig, 0, "note", "validate, install", "files that give it powers beyond text in some clients"},
	{TagExists, 2, "refusal", "tag", "this version has a tag already"},
	{WorktreeDirty, 2, "refusal", "sign, tag", "files of the skill are not what git would publish"},
	{VersionsHidden, 2, "refusal", "tag", "the tag would take versions away from those who install"},
	{KeyNotIgnored, 2, "refusal", "sign", "git would publish the new private key"},
	{PlaceholderLeft, 0, "note", "validate, tag", "the text that `skillpm new` wrote is still there"},
	{GitFailed, 1, "failure", "tag, sign, validate, inspect", "git is missing or refused"},
	{SkillShadowed, 0, "warning", "doctor", "agents load another skill of this name, or do not agree which"},
	{SkillGitRules, 0, "warning", "add, install, update, doctor", "its own .gitignore or .gitattributes would change it in another clone"},
	{AgentUnserved, 0, "note", "doctor", "an agent is used here and reads none of the targets"},
	{RunUnfinished, 0, "warning", "doctor", "a run was killed; the next one finishes or undoes it"},
	{ProgramMissing, 0, "note", "doctor", "a program that some repositories need is not there"},
	{ImportUnreadable, 2, "refusal", "import", "another tool's file cannot be understood"},
	{ImportNothing, 2, "refusal", "import", "no file of another tool that lists skills"},
	{ImportSkipped, 2, "finding", "import", "a skill that another tool lists could not be carried over"},
	{ImportNote, 0, "note", "import", "something in another tool's file stays behind that is no skill"},
}

// Codes returns the whole table, in a fixed order. The caller must not change it.
func Codes() []Info { return table }

// Lookup returns what the table says of c.
func Lookup(c Code) (Info, bool) {
	for i := range table {
		if table[i].Code == c {
			return table[i], true
		}
	}
	return Info{}, false
}
