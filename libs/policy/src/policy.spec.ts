import { loadPolicy } from './load-policy.js';
import { createPolicies } from './policies.js';
import { createPolicy } from './policy.js';
import type { PolicyCall } from './policy-call.js';
import type { Policy } from './policy.js';

const call = (overrides: Partial<PolicyCall> = {}): PolicyCall => ({
  agentId: 'agent',
  runId: 'run',
  toolName: 'delete_file',
  arguments: {},
  labels: {},
  description: null,
  needsApproval: false,
  expiresInMs: null,
  allowedDecisions: null,
  ...overrides,
});

const policy = (yaml: string): Policy => createPolicy(loadPolicy('p.yaml', `version: 1\n${yaml}`));

function judge(of: Policy, overrides: Partial<PolicyCall> = {}) {
  const [judgement] = of.judge([call(overrides)], 0);
  if (judgement === undefined) throw new Error('no judgement');
  return judgement;
}

describe('the policy', () => {
  it('allows unflagged calls without a policy file, and says so', () => {
    const builtIn = createPolicies([]).of('default');
    expect(judge(builtIn).verdict).toEqual({
      outcome: 'allow',
      ruleId: 'default',
      policyVersion: builtIn.version,
      automatic: true,
      why: ['nothing else matches'],
    });
  });

  it('asks one approver when the worker flags an allowed call', () => {
    const { verdict, requirement } = judge(createPolicies([]).of('default'), { needsApproval: true });
    expect(verdict).toMatchObject({ outcome: 'require', ruleId: 'needsApproval', automatic: false });
    expect(requirement).toMatchObject({
      stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
      fourEyes: true,
      expiresInMs: 3_600_000,
      executeByMs: 3_600_000,
      onTimeout: 'deny',
    });
  });

  it.each(['autoApprovedTools: ["*"]', 'requireApprovalTools: ["*"]', 'rules: [{ id: r, then: { block: never } }]'])(
    'blocks a call that the code of the agent denies, with its reason last, under %s',
    (yaml) => {
      const { verdict } = judge(policy(yaml), { deny: 'not to New York', needsApproval: true });
      expect(verdict).toMatchObject({ outcome: 'block', ruleId: 'deniedInCode', automatic: true });
      expect(verdict.why.length).toBeGreaterThan(1);
      expect(verdict.why.at(-1)).toBe('not to New York');
    },
  );

  it('requires approval for requireApprovalTools before it looks at autoApprovedTools', () => {
    const both = policy('requireApprovalTools: ["delete_*"]\nautoApprovedTools: ["delete_file", "get_*"]');
    expect(judge(both).verdict).toMatchObject({ outcome: 'require', ruleId: 'requireApprovalTools' });
    expect(judge(both, { toolName: 'get_file' }).verdict).toMatchObject({
      outcome: 'allow',
      ruleId: 'autoApprovedTools',
    });
    expect(judge(both, { toolName: 'other' }).verdict).toMatchObject({ outcome: 'require', ruleId: 'default' });
  });

  it('allows the tools of one workflow only in the calls with its label, and of one agent in its calls', () => {
    const listed = policy(
      'autoApprovedTools: ["get_*", { tools: [delete_file], labels: { workflow: "clean-*" } }, { tools: [mail], agents: [a] }]',
    );
    const verdictOf = (call: Parameters<typeof judge>[1]) => judge(listed, call).verdict;
    expect(verdictOf({ labels: { workflow: 'clean-up' } })).toMatchObject({
      ...{ outcome: 'allow', ruleId: 'autoApprovedTools' },
      why: ['the tool matches "delete_file"; the label "workflow" matches "clean-*"'],
    });
    for (const call of [{}, { labels: { workflow: 'other' } }, { labels: { team: 'clean-up' } }]) {
      expect(verdictOf(call)).toMatchObject({ outcome: 'require', ruleId: 'default' });
    }
    expect(verdictOf({ toolName: 'get_x', labels: { workflow: 'other' } }).outcome).toBe('allow');
    expect(verdictOf({ toolName: 'mail', agentId: 'a' }).outcome).toBe('allow');
    expect(verdictOf({ toolName: 'mail', agentId: 'b' }).outcome).toBe('require');
  });

  it('lets a worker make an auto-approved call stricter, and a required one no laxer', () => {
    const auto = policy('autoApprovedTools: ["delete_file"]');
    expect(judge(auto, { needsApproval: true }).verdict.outcome).toBe('require');
    const required = policy('requireApprovalTools: ["delete_file"]');
    expect(judge(required, { needsApproval: false }).verdict.outcome).toBe('require');
  });

  it.each([
    ['30m', 60_000, 60_000],
    ['30m', 3_600_000, 1_800_000],
    ['30m', 'never', 1_800_000],
    ['30m', null, 1_800_000],
    ['never', 60_000, 60_000],
    ['never', 'never', 'never'],
    [undefined, 7_200_000, 7_200_000],
    [undefined, 'never', 'never'],
    [undefined, null, 3_600_000],
  ] as const)(
    'lets a request only shorten the expiry that the file sets: %s and %s give %s',
    (file, wanted, expiresInMs) => {
      const content = policy(file === undefined ? '' : `defaults: { expiresIn: ${file} }`);
      expect(judge(content, { expiresInMs: wanted }).requirement.expiresInMs).toBe(expiresInMs);
    },
  );

  it.each([
    ['[approve, deny]', ['deny', 'edit'], ['deny']],
    ['[approve, deny]', ['edit'], ['deny']],
    ['[approve, deny]', ['deny', 'answer'], ['deny']],
    ['[approve, deny]', ['approve'], ['approve', 'deny']],
    ['[approve]', null, ['approve', 'deny']],
    ['[approve, edit]', ['edit'], ['edit', 'deny']],
  ] as const)('lets a request narrow the decisions %s to %j, but never remove deny', (file, wanted, expected) => {
    const narrow = policy(`defaults: { allowedDecisions: ${file} }`);
    const allowedDecisions = wanted === null ? null : [...wanted];
    expect(judge(narrow, { allowedDecisions }).requirement.allowedDecisions).toEqual(expected);
  });

  it('judges the tenant that the file names by it, and every other by the built-in one', () => {
    const policies = createPolicies([loadPolicy('p.yaml', 'version: 1\ntenant: acme\ndefault: require')]);
    expect(judge(policies.of('acme')).verdict.outcome).toBe('require');
    expect(judge(policies.of('other')).verdict.outcome).toBe('allow');
    expect(policies.of('other')).toBe(policies.of('other'));
    expect(policies.of('other').tenant).toBe('other');
  });

  it('judges every call of a step', () => {
    expect(
      policy('')
        .judge([call(), call({ needsApproval: true })], 0)
        .map((one) => one.verdict.outcome),
    ).toEqual(['allow', 'require']);
  });
});
