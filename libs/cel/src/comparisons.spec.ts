import { celEngine } from './expression.js';

const warnings = (source: string): readonly string[] => {
  expect(celEngine.compile(source)).not.toHaveProperty('problem');
  return celEngine.comparisonProblems(source);
};

describe('a comparison that can never hold is found', () => {
  it.each([
    ['call.labels.env == 1', 'a text with a number and is always false'],
    ['call.labels["env"] == true', 'a text with a bool and is always false'],
    ['call.toolName != null', 'a text with null and is always true'],
    ['run.calls == "3"', 'a number with a text and is always false'],
    ['now > "2026-01-01T00:00:00Z"', 'a timestamp with a text and never has an answer'],
    ['int(args.n) == "1"', 'a number with a text and is always false'],
    ['args.s.size() >= "3"', 'a number with a text and never has an answer'],
    ['"5" < double(args.s) || args.vip', 'a text with a number and never has an answer'],
    ['duration(args.s) > 3600', 'a duration with a number and never has an answer'],
    ['type(args.x) == "string"', 'a type with a text and is always false'],
    ['call.hints.readOnlyHint == "true"', 'a bool with a text and is always false'],
    ['has(args.x) == "yes"', 'a bool with a text and is always false'],
    ['args.items.exists(x, size(x) == "1")', 'a number with a text and is always false'],
    ['args.items.filter(x, x.ok) == 0', 'a list with a number and is always false'],
    ['(args.vip ? 1 : 2) == "1"', 'a number with a text and is always false'],
    ['args.x > null', 'a value with null and never has an answer'],
    ['args.x > [1]', 'a value with a list and never has an answer'],
    ['int(args.n) in ["1", "2"]', 'looks for a number in a list of other kinds and is always false'],
    ['args.x in "abc"', 'looks for a value in a text and never has an answer'],
    ['timestamp(args.s) > timestamp("2026-01-01")', 'timestamp("2026-01-01"): the text is no timestamp'],
    ['duration(args.s) > duration("1d")', 'duration("1d"): the text is no duration'],
    ['double("1,000") < args.n', 'double("1,000"): the text is no double'],
  ])('%s', (source, problem) => {
    expect(warnings(source)).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ...['args.amount == "100"', 'args.x == null', 'args.a == args.b', 'args.amount > 100', 'int(args.n) == 1.0'],
    ...['1u < 2.5', 'call.labels.env == "prod"', 'call.description != null', 'run.calls > 3', 'args.x in ["a", 1]'],
    ...['"env" in call.labels', 'now - run.startedAt > duration("1h")', 'type(args.x) == string'],
    ...['args.items.exists(call, call.toolName == 1)', 'timestamp(args.s) > now', 'args.list[0] == 1'],
    ...['call.labels.size() == 0', 'args.items.map(x, x.id) == [1]', '(args.vip ? 1 : "2") == "2"'],
  ])('but not where it may hold: %s', (source) => {
    expect(warnings(source)).toEqual([]);
  });
});
