import { loadCases, runCase } from './load-cases.js';
import { PolicyFileError } from './load-document.js';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';
import { celEngine } from '@countersign/cel';

const policy = createPolicy(
  loadPolicy(
    'p.yaml',
    `version: 1
rules:
  - { id: small, match: { tools: [refund] }, when: args.amount <= 50 && now.getHours() < 12, then: allow }
  - { id: refunds, match: { tools: [refund] }, then: { require: {} } }`,
    celEngine,
  ),
);

const noon = Date.parse('2026-11-24T12:00:00Z');

function results(yaml: string) {
  return loadCases('cases.yaml', yaml).map((one) => runCase(policy, one, noon));
}

function problems(yaml: string): string {
  try {
    loadCases('cases.yaml', yaml);
  } catch (error) {
    if (error instanceof PolicyFileError) return error.message;
    throw error;
  }
  return '';
}

describe('the cases of a policy test', () => {
  it('pass when the verdict is the expected one', () => {
    const [one, other] = results(`
- { call: { toolName: refund, arguments: { amount: 60 } }, expect: { outcome: require, ruleId: refunds } }
- { name: a small one in the morning, call: { toolName: refund, arguments: { amount: 6 }, at: "2026-11-24T09:00:00Z" }, expect: { ruleId: small } }
`);
    expect(one).toMatchObject({ name: 'refund {"amount":60}', outcome: 'require', ruleId: 'refunds', differs: [] });
    expect(other).toMatchObject({ name: 'a small one in the morning', differs: [] });
  });

  it('fail with what was expected when it is another', () => {
    expect(
      results('- { call: { toolName: refund, arguments: { amount: 6 } }, expect: { outcome: allow, ruleId: small } }'),
    ).toMatchObject([{ outcome: 'require', ruleId: 'refunds', differs: ['outcome: allow', 'ruleId: small'] }]);
  });

  it.each([
    ['', 'cases.yaml'],
    ['[]', 'cases.yaml: has no cases'],
    ['- { call: { toolName: x }, expect: {} }', 'cases.yaml:1: 0.expect: needs outcome, ruleId or both'],
    ['- { call: { toolName: x, tool: y }, expect: { outcome: allow } }', '0.call.tool: is not a key of this file'],
    ['- { call: { toolName: x }, expect: { outcome: deny } }', '0.expect.outcome'],
    ['- { call: { toolName: x, at: noon }, expect: { outcome: allow } }', '0.call.at'],
  ])('are refused with line and path: %s', (yaml, problem) => {
    expect(problems(yaml)).toContain(problem);
  });
});
