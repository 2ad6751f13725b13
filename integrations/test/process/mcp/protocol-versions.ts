/** A version of MCP as the official conformance suite tries it. */
interface TriedVersion {
  readonly version: string;
  /** The number of scenarios that the suite has for a server. */
  readonly scenarios: number;
  /** The number of calls that people approve while these run behind `--gate writes`. */
  readonly approvals: number;
  /** The scenarios that pass at the reference server and fail behind the gate. Empty: the gate speaks this version. */
  readonly notYet: readonly string[];
}

/** The versions that the suite tries. The spec compares each member exactly: remove a scenario here when it begins to pass. */
export const protocolVersions: readonly TriedVersion[] = [
  { version: '2025-06-18', scenarios: 27, approvals: 10, notYet: [] },
  { version: '2025-11-25', scenarios: 33, approvals: 13, notYet: [] },
  {
    version: '2026-07-28',
    scenarios: 40,
    approvals: 0,
    notYet: [
      'caching',
      'completion-complete',
      'dns-rebinding-protection',
      'http-custom-header-server-validation',
      'http-header-validation',
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-basic-sampling',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
      'input-required-result-missing-input-response',
      'input-required-result-multi-round',
      'input-required-result-multiple-input-requests',
      'input-required-result-non-tool-request',
      'input-required-result-request-state',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-unsupported-methods',
      'json-schema-2020-12',
      'prompts-get-embedded-resource',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-with-image',
      'prompts-list',
      'resources-list',
      'resources-read-binary',
      'resources-read-text',
      'resources-templates-read',
      'sep-2164-resource-not-found',
      'server-sse-multiple-streams',
      'server-stateless',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-error',
      'tools-call-image',
      'tools-call-mixed-content',
      'tools-call-simple-text',
      'tools-call-with-progress',
      'tools-list',
    ],
  },
];
