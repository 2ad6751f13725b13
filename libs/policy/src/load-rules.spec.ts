import { celEngine } from '@countersign/cel';
import { PolicyFileError } from './load-document.js';
import { loadPolicy } from './load-policy.js';

function problemsOf(yaml: string, cel: typeof celEngine | null = celEngine): readonly string[] {
  try {
    loadPolicy('p.yaml', `version: 1\n${yaml}`, cel);
  } catch (error) {
    if (error instanceof PolicyFileError) return error.message.split('\n');
    throw error;
  }
  return [];
}

function rule(more: string): string {
  return `rules:\n  - id: a\n    ${more}`;
}

/** Business hours with one key written otherwise. */
function hours(change: string): string {
  const written = ['zone: Europe/Paris', 'days: [mon]', 'from: "08:00"', 'to: "18:00"'];
  const keyOf = (member: string): string => member.split(':')[0] ?? '';
  const keys = written.map((member) => (keyOf(member) === keyOf(change) ? change : member));
  return rule(`then: { require: { businessHours: { ${keys.join(', ')} } } }`);
}

describe('the rules of a policy file', () => {
  it.each([
    ['no then', rule('match: {}'), 'p.yaml:3: rules.0.then: '],
    [
      'another then',
      rule('then: maybe'),
      'p.yaml:4: rules.0.then: must be "allow", { block: "the reason" } or { require: … }',
    ],
    ['two outcomes', rule('then: { block: never, require: {} }'), 'rules.0.then: needs one of block and require'],
    ['no outcome', rule('then: {}'), 'rules.0.then: needs one of block and require'],
    ['a block without a reason', rule('then: { block: " " }'), 'rules.0.then.block: '],
    ['a block whose reason shows nothing', rule(String.raw`then: { block: "\u200b\u2800" }`), 'rules.0.then.block: '],
    [
      'an unknown key',
      rule('then: { require: { people: 2 } }'),
      'rules.0.then.require.people: is not a key of this file',
    ],
    ['a wrong key of a rule', 'rules: [{ id: a, if: x, then: allow }]', 'rules.0.if: is not a key'],
    ['a wrong number', rule('then: { require: { quorum: { approve: 0 } } }'), 'rules.0.then.require.quorum.approve: '],
    [
      'two stages in one',
      rule('then: { require: { stages: [{ anyOf: [a], allOf: [b] }] } }'),
      'rules.0.then.require.stages.0: needs one of quorum, anyOf and allOf',
    ],
    [
      'stages next to a stage',
      rule('then: { require: { anyOf: [a], stages: [{ anyOf: [b] }] } }'),
      'rules.0.then.require.stages: allows one of stages, quorum, anyOf and allOf',
    ],
    [
      'no chain',
      rule('then: { require: { onTimeout: escalate } }'),
      'rules.0.then.require.onTimeout: needs "escalation"',
    ],
    [
      'a chain for nothing',
      rule('then: { require: { escalation: [{ to: [a], expiresIn: 1m }] } }'),
      'escalation: is used only with "onTimeout: escalate"',
    ],
    [
      'an endless level',
      rule('then: { require: { onTimeout: escalate, escalation: [{ to: [a], expiresIn: never }] } }'),
      'escalation.0.expiresIn: "never" is not a duration',
    ],
    [
      'silence without the words',
      rule('then: { require: { onTimeout: allow } }'),
      'needs "allowOnTimeout: i-understand"',
    ],
    [
      'silence at high risk',
      rule('then: { require: { onTimeout: allow, allowOnTimeout: i-understand, risk: high } }'),
      'must not be "allow" where the risk is high',
    ],
    [
      'the words without silence',
      rule('then: { require: { allowOnTimeout: i-understand } }'),
      'is used only with "onTimeout: allow"',
    ],
    [
      'a wrong glob',
      rule('match: { tools: ["a b"] }\n    then: allow'),
      'rules.0.match.tools.0: the glob "a b" contains white space',
    ],
    ['no glob', rule('match: { agents: [] }\n    then: allow'), 'rules.0.match.agents: '],
    ['too long a time', rule('then: { require: { expiresIn: 4000d } }'), '"4000d" is longer than 10 years'],
    ['a wrong id', 'rules: [{ id: "a b", then: allow }]', 'rules.0.id: must be 1 to 128 letters'],
    ['a reserved id', 'rules: [{ id: default, then: allow }]', 'rules.0.id: is the id of a verdict that no rule gives'],
    [
      'an id twice',
      'rules: [{ id: a, then: allow }, { id: a, then: allow }]',
      'rules.1.id: "a" is the id of an earlier rule',
    ],
    [
      'business hours',
      rule('then: { require: { businessHours: {} } }'),
      'rules.0.then.require.businessHours.zone: is missing: it must be text',
    ],
    ['an unknown zone', hours('zone: Europe/Lutetia'), '"Europe/Lutetia" is not a time zone: write a name such as'],
    ['an offset as a zone', hours('zone: "+01:00"'), 'businessHours.zone: "+01:00" is not a time zone'],
    ['hours of no length', hours('to: "08:00"'), 'businessHours.to: must not be equal to "from"'],
    ['a time of day that is none', hours('to: "24:30"'), 'businessHours.to: must be a time of day such as "18:00"'],
    ['24:00 as a beginning', hours('from: "24:00"'), 'businessHours.from: must be a time of day such as "08:00"'],
    ['no day', hours('days: []'), 'businessHours.days: '],
    ['a day twice', hours('days: [mon, mon]'), 'businessHours.days: names a day twice'],
    [
      'a bad expression',
      rule("when: 'args.amount <='\n    then: allow"),
      'p.yaml:4: rules.0.when: the expression cannot be used: ',
    ],
    [
      'an expression over nothing',
      rule("when: 'amount > 1'\n    then: allow"),
      'there is no "amount"; an expression has args, call, run, now',
    ],
  ])('are refused with line and path: %s', (_, yaml, problem) => {
    expect(problemsOf(yaml).join('\n')).toContain(problem);
  });

  it('are refused with all their problems at once', () => {
    const yaml = `rules:\n  - { id: a, when: 'x', then: maybe }\n  - { id: b, when: 'y', then: allow }`;
    expect(problemsOf(yaml).map((line) => line.split(': ')[1])).toEqual([
      'rules.0.then',
      'rules.0.when',
      'rules.1.when',
    ]);
  });

  it('are refused when nothing can evaluate their expressions', () => {
    expect(problemsOf(rule("when: 'true'\n    then: allow"), null)).toEqual([
      'p.yaml:4: rules.0.when: the expression cannot be used: cannot be read here: there is no CEL engine',
    ]);
  });

  it('change the version when their meaning changes, and not with comments', () => {
    const version = (yaml: string): string => loadPolicy('p.yaml', `version: 1\n${yaml}`, celEngine).version;
    expect(version(rule('then: allow'))).toBe(version(`# why\n${rule('then: allow # fine')}`));
    expect(version(rule('then: allow'))).not.toBe(version(rule('then: { require: {} }')));
  });
});

describe('a rule without a possible approver', () => {
  const known = new Set(['ops', 'security']);
  const problemsFor = (requirement: string, groups: ReadonlySet<string> | null = known): readonly string[] => {
    const yaml = `version: 1\nrules:\n  - id: a\n    then: { require: ${requirement} }`;
    try {
      loadPolicy('p.yaml', yaml, null, { groupsOf: () => groups, channelPeople: () => [] });
    } catch (error) {
      if (error instanceof PolicyFileError) return error.message.split('\n');
      throw error;
    }
    return [];
  };

  it.each([
    ['{ anyOf: [nobody, none] }', 'nobody or none'],
    ['{ allOf: [ops, nobody] }', 'nobody'],
    ['{ quorum: { approve: 2, of: [nobody] } }', 'nobody'],
    ['{ stages: [{ anyOf: [ops] }, { anyOf: [nobody] }] }', 'nobody'],
    ['{ onTimeout: escalate, escalation: [{ to: [nobody], expiresIn: 1m }] }', 'nobody'],
  ])('is refused with line and path: %s', (requirement, groups) => {
    expect(problemsFor(requirement)).toEqual([
      `p.yaml:4: rules.0.then: no person can answer: no approver is in the group ${groups}`,
    ]);
  });

  it.each(['{ anyOf: [nobody, ops] }', '{ allOf: [ops, security] }', '{ quorum: { approve: 2 } }', '{}'])(
    'is not one that an approver can: %s',
    (requirement) => {
      expect(problemsFor(requirement)).toEqual([]);
    },
  );

  it('is not one whose group the file itself gives to a person', () => {
    const yaml =
      'version: 1\napprovers: [{ id: ann, groups: [billing] }]\nrules: [{ id: a, then: { require: { anyOf: [billing] } } }]';
    const people = { groupsOf: () => known, channelPeople: () => [] };
    expect(loadPolicy('p.yaml', yaml, null, people).approvers).toMatchObject([{ id: 'ann', groups: ['billing'] }]);
  });

  it('is not looked for where the groups are not known', () => {
    expect(problemsFor('{ anyOf: [nobody] }', null)).toEqual([]);
  });
});
