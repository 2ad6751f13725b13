import { describe, expect, it } from '@jest/globals';
import { PolicyFileError } from './load-document.js';
import { loadPolicy } from './load-policy.js';
import { locate, withLines } from './load-toml-lines.js';

function problemsOf(file: string, text: string): readonly string[] {
  try {
    withLines(file, text, () => loadPolicy(file, text));
  } catch (error) {
    if (error instanceof PolicyFileError) return error.message.split('\n');
    throw error;
  }
  throw new Error('the policy was taken');
}

const toml = `version = 1
surprise = true
requireApprovalTools = [
  "ok",
  "a b",
]
defaults.colour = "red"

[[rules]]
id = "first"
then = "allow"

[[rules]]
id = "second"
[rules.match]
labels = { env = "a b" }
[rules.then.require]
reminders = ["10m", "soon"]
stages = [
  { anyOf = ["ops"] },
  { "people count" = 2, anyOf = ["ops"] },
]
`;

describe('the lines of a TOML file', () => {
  it('are those of the keys, the elements and the tables with a problem', () => {
    expect(problemsOf('p.toml', toml)).toEqual([
      'p.toml:2: surprise: is not a key of this file',
      expect.stringMatching(/^p\.toml:5: requireApprovalTools\.1: the glob "a b" contains white space/),
      'p.toml:7: defaults.colour: is not a key of this file',
      expect.stringMatching(/^p\.toml:16: rules\.1\.match\.labels\.env: the glob/),
      expect.stringMatching(/^p\.toml:18: rules\.1\.then\.require\.reminders\.1: .*duration/),
      'p.toml:21: rules.1.then.require.stages.1.people count: is not a key of this file',
    ]);
  });

  it('are those of the table around a key that is missing', () => {
    expect(problemsOf('p.toml', 'version = 1\n\n[[rules]]\nthen = "allow"\n')).toEqual([
      'p.toml:3: rules.0.id: is missing: it must be text',
    ]);
  });

  it('say nothing of a file as a whole, and change no problem of another format', () => {
    expect(problemsOf('p.toml', '[defaults]\n')).toEqual(['p.toml: version: is missing: it must be 1']);
    const known = [{ file: 'p.yaml', line: null, path: 'rules', message: 'm' }];
    expect(locate('p.yaml', 'rules: []', known)).toEqual(known);
  });

  it('are left out where only one of the two parsers accepts the text', () => {
    const known = [{ file: 'p.toml', line: null, path: 'rules', message: 'm' }];
    expect(locate('p.toml', 'rules = ', known)).toEqual(known);
  });
});
