import type { CelEngine } from '@countersign/cel';
import { PolicyFileError } from './load-document.js';
import { loadPolicy, loadPolicyInSteps } from './load-policy.js';

function problemsOf(file: string, text: string): readonly string[] {
  try {
    loadPolicy(file, text);
  } catch (error) {
    if (error instanceof PolicyFileError) return error.message.split('\n');
    throw error;
  }
  throw new Error('the policy was taken');
}

const yaml = `
version: 1
autoApprovedTools: ["get_*"]   # reads are free
requireApprovalTools: ["delete_*"]
defaults: { expiresIn: 30m, executeBy: never, onTimeout: hold, fourEyes: false, allowedDecisions: [approve, deny] }
`;

describe('loadPolicy', () => {
  it('says what an empty file needs', () => {
    for (const text of ['', '# nothing yet\n'])
      expect(problemsOf('p.yaml', text)).toEqual(['p.yaml: is empty: it needs at least "version: 1"']);
  });

  it('refuses what is too large for one event, also when an alias makes it so', () => {
    const names = JSON.stringify(Array.from({ length: 10_000 }, (_, n) => `a_tool_of_some_length_${String(n)}`));
    const text = `version: 1\nautoApprovedTools: &names ${names}\nrequireApprovalTools: *names\n`;
    expect(text.length).toBeLessThan(512 * 1024);
    expect(problemsOf('p.yaml', text)).toEqual([
      'p.yaml: has more than 512 KiB as JSON, and the whole of it is recorded as one event',
    ]);
  });

  it('compiles no expression of a file that is too large', () => {
    let compiled = 0;
    const cel: CelEngine = {
      version: 'test',
      compile: () => {
        compiled += 1;
        return { problem: 'none' };
      },
      comparisonProblems: () => [],
    };
    const rules = Array.from({ length: 2000 }, (_, n) => ({
      id: `r${n}`,
      when: `args.a${'x'.repeat(300)} == ${n}`,
      then: 'allow',
    }));
    expect(() => loadPolicy('p.json', JSON.stringify({ version: 1, rules }), cel)).toThrow('512 KiB');
    expect(compiled).toBe(0);
  });

  it('compiles at most one expression a step of a file that is parsed already', () => {
    const compiled: string[] = [];
    const cel: CelEngine = {
      version: 'test',
      compile: (source) => {
        compiled.push(source);
        return { problem: 'none' };
      },
      comparisonProblems: () => [],
    };
    const rules = ['a', 'b'].map((when) => ({ id: when, when, then: 'allow' }));
    const steps = loadPolicyInSteps('the candidate', { version: 1, rules }, cel);
    const counts = ['first', 'second'].map(() => [steps.next().done, compiled.length]);
    expect(counts).toEqual([
      [false, 0],
      [false, 1],
    ]);
    expect(() => steps.next()).toThrow('the candidate: rules.1.when: the expression cannot be used: none');
    const plain = { version: 1, autoApprovedTools: ['get_*'] };
    const { value } = loadPolicyInSteps('p', plain, cel).next();
    expect(value).toEqual(loadPolicy('p', JSON.stringify(plain), cel));
  });

  it('does not compare each of many rules with each other', () => {
    const tools = (n: number): string[] =>
      ['*a*b*c*d*e*f*g*h', '*b*a*d*c*f*e*', '*h*g*f*e*d*'].map((glob) => `${glob}${n}`);
    const rules = Array.from({ length: 2000 }, (_, n) => ({ id: `r${n}`, match: { tools: tools(n) }, then: 'allow' }));
    const text = JSON.stringify({ version: 1, rules });
    const before = process.cpuUsage();
    loadPolicy('p.json', text);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(5000);
  });

  it('reads YAML, JSON and TOML of the same content as the same policy', () => {
    const fromYaml = loadPolicy('p.yaml', yaml);
    const fromJson = loadPolicy('p.json', JSON.stringify(fromYaml.source));
    const fromToml = loadPolicy(
      'p.toml',
      `version = 1
autoApprovedTools = ["get_*"]
requireApprovalTools = ["delete_*"]
[defaults]
expiresIn = "30m"
executeBy = "never"
onTimeout = "hold"
fourEyes = false
allowedDecisions = ["approve", "deny"]`,
    );
    expect(fromYaml.version).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(fromJson).toEqual(fromYaml);
    expect(fromToml.version).toBe(fromYaml.version);
    expect(fromYaml.defaults).toEqual({
      expiresInMs: 1_800_000,
      isExpirySet: true,
      executeByMs: 'never',
      onTimeout: 'hold',
      fourEyes: false,
      allowedDecisions: ['approve', 'deny'],
      businessHours: null,
      batch: 'independent',
    });
  });

  it('takes a change of meaning, and not of formatting, as another version', () => {
    const one = loadPolicy('p.yaml', 'version: 1\ndefault: require');
    expect(loadPolicy('p.yaml', '# a comment\ndefault:   require\nversion: 1').version).toBe(one.version);
    expect(loadPolicy('p.yaml', 'version: 1\ndefault: allow').version).not.toBe(one.version);
  });

  it('requires approval by default with an allow-list, and allows without one', () => {
    expect(loadPolicy('p.yaml', 'version: 1\nautoApprovedTools: [a]').default).toBe('require');
    expect(loadPolicy('p.yaml', 'version: 1').default).toBe('allow');
  });

  it('names file, line and path of every problem at once', () => {
    const text = `version: 1
defaults:
  expiresIn: 90 minutes
  colour: red
requireApprovalTools: ["a b"]
surprise: true
`;
    expect(problemsOf('p.yaml', text)).toEqual([
      expect.stringMatching(/^p\.yaml:3: defaults\.expiresIn: .*duration/),
      'p.yaml:4: defaults.colour: is not a key of this file',
      expect.stringMatching(/^p\.yaml:5: requireApprovalTools\.0: the glob "a b" contains white space/),
      'p.yaml:6: surprise: is not a key of this file',
    ]);
  });

  it('says what to write in place of the keys of a workflow engine', () => {
    const text = `version = 1
approvalTimeout = 60000

[[workflow.config]]
maxSteps = 100

[toolApproval]
autoApprovedTools = ["get_weather"]
`;
    const timeout = '"approvalTimeout" as "expiresIn" in "defaults", such as "60s" for 60000';
    expect(problemsOf('p.toml', text)).toEqual([
      `p.toml: approvalTimeout: is not a key of this file. Write ${timeout}`,
      expect.stringContaining(`p.toml: workflow: is not a key of this file. Write "autoApprovedTools" of its`),
      expect.stringContaining(`p.toml: toolApproval: is not a key of this file. Write its "autoApprovedTools"`),
    ]);
  });

  it.each([
    ['pendingPerAgent: 0', 'p.yaml:2: quotas.pendingPerAgent: '],
    ['coolDown: 10m', 'p.yaml:2: quotas.coolDown: needs "deniedBeforeCoolDown"'],
    ['deniedBeforeCoolDown: 3', 'p.yaml:2: quotas.deniedBeforeCoolDown: needs "coolDown"'],
    ['deniedBeforeCoolDown: 21, coolDown: 10m', 'p.yaml:2: quotas.deniedBeforeCoolDown: '],
    ['perDay: 3', 'p.yaml:2: quotas.perDay: is not a key of this file'],
  ])('refuses the quotas { %s }', (written, problem) => {
    expect(problemsOf('p.yaml', `version: 1\nquotas: { ${written} }`)[0]).toContain(problem);
  });

  it.each([
    ['tenant: ""', 'tenant: must not be empty'],
    ['default: maybe', 'default: must be "require" or "allow"'],
    ['autoApprovedTools: get_x', 'autoApprovedTools: must be a list, not text'],
    ['autoApprovedTools: [5]', 'autoApprovedTools.0: must be an object, not a number'],
    ['autoApprovedTools: [{ labels: { workflow: a } }]', 'autoApprovedTools.0.tools: is missing'],
    ['autoApprovedTools: [{ tools: [a], when: x }]', 'autoApprovedTools.0.when: is not a key of this file'],
    ['defaults: { fourEyes: "yes" }', 'defaults.fourEyes: must be true or false, not text'],
    ['defaults:', 'defaults: must be an object, not empty'],
    ['defaults: { batch: some }', 'defaults.batch: must be "independent" or "sequential"'],
    [
      'defaults: { batch: any-asks-all }',
      'defaults.batch: must be "independent" or "sequential". Write "batch: any-asks-all" into the "require" of each rule that asks about the whole step',
    ],
    [
      'defaults: { batch: all-or-nothing }',
      'defaults.batch: must be "independent" or "sequential". Write "batch: all-or-nothing" into the "require" of each rule that asks about the whole step',
    ],
    ['quotas: { pendingPerAgent: 0 }', 'quotas.pendingPerAgent: must be at least 1'],
    ['approvers: [{ groups: [ops] }]', 'approvers.0.id: is missing: it must be text'],
    ['approvers: [{ id: a, groups: ops }]', 'approvers.0.groups: must be a list, not text'],
    ['approvers: [{ id: a, identities: { slack: 5 } }]', 'approvers.0.identities.slack: must be text, not a number'],
    [
      'rules: [{ id: a, then: { require: { risk: huge } } }]',
      'rules.0.then.require.risk: must be "low", "medium" or "high"',
    ],
    ['rules: [{ id: a, then: { require: { anyOf: [] } } }]', 'rules.0.then.require.anyOf: must not be empty'],
  ])('says in plain words what is wrong with %s', (text, problem) => {
    expect(problemsOf('p.yaml', `version: 1\n${text}`)).toEqual([`p.yaml:2: ${problem}`]);
  });

  it('says in plain words that the version is another, and that the file is no list of keys', () => {
    expect(problemsOf('p.yaml', 'version: 2')).toEqual(['p.yaml:1: version: must be 1']);
    expect(problemsOf('p.yaml', 'just text')).toEqual(['p.yaml:1: must be an object, not text']);
  });

  it('reads people without groups, such as a delegate who has none of their own', () => {
    const people = '[{ id: bob, groups: [ops] }, { id: ann }, { id: kim, groups: [] }]';
    const { approvers } = loadPolicy('p.yaml', `version: 1\napprovers: ${people}`);
    expect(approvers.map(({ id, groups }) => [id, groups])).toEqual([
      ['bob', ['ops']],
      ['ann', []],
      ['kim', []],
    ]);
  });

  it('refuses an allow-list together with default: allow', () => {
    expect(problemsOf('p.yaml', 'version: 1\nautoApprovedTools: [a]\ndefault: allow')[0]).toContain(
      'p.yaml:3: default: must not',
    );
  });

  it('refuses aliases that stand for a flood of copies', () => {
    const text =
      'a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]';
    expect(problemsOf('p.yaml', text)).toEqual(['p.yaml:1: its aliases stand for more than 100 copies']);
  });

  it.each([
    [
      'autoApprovedTools:\n  - *_read',
      'p.yaml:3: there is no anchor "_read" before it: a text that begins with "*" needs quotes',
    ],
    ['rules: &all\n  - *all', 'p.yaml:3: rules.0: contains itself'],
    ['default: !env MODE', expect.stringMatching(/^p\.yaml:2: Unresolved tag: !env/)],
    [
      'rules: [{ id: a, then: { block: "no\\ud800" } }]',
      'p.yaml:2: rules.0.then.block: holds half of a character, which is no text',
    ],
    [
      'rules:\n  - id: a\n    match: { labels: { __proto__: prod } }\n    then: allow',
      'p.yaml:4: rules.0.match.labels.__proto__: is a forbidden key',
    ],
  ])('refuses with its line what cannot be read or recorded: %s', (text, problem) => {
    expect(problemsOf('p.yaml', `version: 1\n${text}`)).toEqual([problem]);
  });

  it('refuses a key that is given twice', () => {
    expect(problemsOf('p.yaml', 'version: 1\nversion: 1')[0]).toMatch(/^p\.yaml:2: .*unique/i);
  });

  it('names the line of what is no YAML or TOML at all', () => {
    expect(problemsOf('p.yaml', 'version: 1\n  bad: [')[0]).toMatch(/^p\.yaml:\d+: /);
    expect(problemsOf('p.toml', 'version = 1\nbad = [')[0]).toMatch(/^p\.toml:\d+: /);
    expect(problemsOf('p.toml', 'version = 2')[0]).toMatch(/^p\.toml: version: /);
  });
});
