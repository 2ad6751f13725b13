import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { agents, nestedInAgentFramework } from '../adapters/agents.ts';

type Column = keyof typeof agents;

const root = join(import.meta.dirname, '..', '..', '..');
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
  'an approval of the framework alone': (column) => (agents[column].forge ? 'runs nothing' : 'not applicable'),
  streaming: (column) => (agents[column].streaming ? 'yes' : 'not applicable'),
  'nested agents': (column) => {
    if (column === 'Agent Framework') return nestedInAgentFramework.nested ? 'with `wait_s`' : 'no';
    // Its agent under test starts the sub-agent outside the tool (integrations/adapters/ai-sdk/conformance).
    if (column === 'AI SDK') return 'as a run of their own';
    return agents[column].nested ? 'yes' : 'not applicable';
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

/** The words in the first cell of a row of the README, by the column of the guide. */
const columnsOfReadme = {
  'AI SDK': 'the Vercel AI SDK',
  'OpenAI Agents': 'the OpenAI Agents SDK',
  LangChain: 'LangChain or LangGraph (JavaScript)',
  Mastra: 'Mastra',
  'Agent Framework': 'Microsoft Agent Framework (Python)',
  A2A: 'an agent that others call over A2A',
  'AG-UI': 'a user interface that speaks AG-UI',
  'MCP gate': 'an MCP server, and any client of it',
  'own loop': 'a loop of your own',
} as const satisfies Readonly<Record<Column, string>>;

it('the table of the README has the rows in which the frameworks differ', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
  const [[, , ...differences] = [], , ...tools] = readme
    .slice(readme.findIndex((line) => line.startsWith('| you have |')))
    .filter((line) => line.startsWith('|'))
    .map(cellsOf);
  const cellsIn = (column: Column): readonly (string | undefined)[] =>
    differences.map((row) => rows.find(([name]) => name === row)?.[columns.indexOf(column) + 1]);
  const shown = tools.slice(0, columns.length).map(([tool, , ...cells]) => [tool, ...cells]);
  expect(shown).toEqual(Object.entries(columnsOfReadme).map(([column, tool]) => [tool, ...cellsIn(column as Column)]));
  const isSplit = (cells: readonly string[]): boolean =>
    new Set(cells.filter((cell) => cell !== 'not applicable')).size > 1;
  const split = rows.filter(([, ...cells]) => isSplit(cells)).map(([row]) => row);
  expect(differences).toEqual(expect.arrayContaining(split));
});

it('the words that the guide names are those that the kit looks for', () => {
  const folder = join(root, 'integrations', 'conformance', 'src', 'scenarios');
  const scenarios = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const start = guide.indexOf('| the call | the text contains |');
  const words = [...guide.slice(start, guide.indexOf('## The scenarios')).matchAll(/`(.+?)`/g)].map(([, word]) => word);
  expect(words).toEqual(['changed the arguments', 'cancelled', 'did not run', 'not known']);
  for (const word of words) expect(scenarios.join()).toContain(`/${word ?? ''}`);
});
