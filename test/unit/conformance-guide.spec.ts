import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { agents, nestedInAgentFramework } from '../adapters/agents.ts';

type Column = keyof typeof agents;

const root = join(import.meta.dirname, '..', '..');
const guide = readFileSync(join(root, 'docs', 'conformance.md'), 'utf8');
const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const lines = guide.slice(guide.indexOf('## The frameworks')).split('\n');
const table = lines.filter((line) => line.startsWith('|')).map(cellsOf);
const [[, ...columns] = [], , ...rows] = table;

/** The cells of the table, as the kit tries the agents. */
const expected: Readonly<Record<string, (column: Column) => string>> = {
  'approve, deny, edit, answer': () => 'yes',
  'one of two calls decided': (column) => (agents[column].partial ? 'it runs' : 'waits for both'),
  'expiry, cancel, late approval': () => 'yes',
  'crash, duplicate resume': () => 'at most once',
  'messages in another order': () => 'at most once',
  'an approval of the framework alone': (column) => (agents[column].forge ? 'runs nothing' : 'there is none'),
  streaming: (column) => (agents[column].streaming ? 'yes' : 'there is none'),
  'nested agents': (column) => {
    if (column === 'Agent Framework') return nestedInAgentFramework.nested ? 'with `wait_s`' : 'no';
    // Its agent under test starts the sub-agent outside the tool (libs/adapters/ai-sdk/conformance).
    if (column === 'AI SDK') return 'as a run of their own';
    return agents[column].nested ? 'yes' : 'there is none';
  },
};

it('the table of the frameworks says what the kit tries with each of them', () => {
  expect(columns).toEqual(Object.keys(agents));
  expect(rows).toEqual(
    Object.entries(expected).map(([row, cell]) => [
      row,
      ...Object.keys(agents).map((column) => cell(column as Column)),
    ]),
  );
});

it('the words that the guide names are those that the kit looks for', () => {
  const folder = join(root, 'libs', 'conformance', 'src', 'scenarios');
  const scenarios = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const start = guide.indexOf('| the call | the text contains |');
  const words = [...guide.slice(start, guide.indexOf('## The scenarios')).matchAll(/`(.+?)`/g)].map(([, word]) => word);
  expect(words).toEqual(['changed the arguments', 'cancelled', 'did not run', 'not known']);
  for (const word of words) expect(scenarios.join()).toContain(`/${word ?? ''}`);
});
