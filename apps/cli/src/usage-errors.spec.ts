import { beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun } from './testing/cli-run.js';

const run = createCliRun({ COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'token' });

/** The names of the subcommands in a help text. */
function commandsIn(help: string): readonly string[] {
  const [, list = ''] = /^Commands:\n((?: .*\n)*)/m.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
}

/** Every command of the program, as people write it. */
async function commandsBelow(path: readonly string[]): Promise<readonly (readonly string[])[]> {
  const below = commandsIn((await run(...path, '--help')).out).map((name) => commandsBelow([...path, name]));
  return [path, ...(await Promise.all(below)).flat()];
}

describe('a command line that is wrong', () => {
  let commands: readonly (readonly string[])[] = [];
  beforeAll(async () => {
    commands = await commandsBelow([]);
  });

  const remedyOf = async (...args: readonly string[]): Promise<string> => {
    const { code, err } = await run(...args);
    return code === 2 ? (/See `(.*)`\.\n$/.exec(err)?.[1] ?? err) : `ends with ${String(code)}`;
  };
  const helpOf = (path: readonly string[]): string => ['countersign', ...path, '--help'].join(' ');

  it('names the help of the command that failed, for every command', async () => {
    expect(commands.length).toBeGreaterThan(40);
    const remedies = await Promise.all(commands.map((path) => remedyOf(...path, '--no-such-option')));
    expect(remedies).toEqual(commands.map(helpOf));
  });

  it.each([
    [['policy', 'check'], 'countersign policy check --help'],
    [['policy', 'chek'], 'countersign policy --help'],
    [['--url', 'http://127.0.0.1:1', 'policy', 'check'], 'countersign policy check --help'],
    [['topics', 'allow', '--json'], 'countersign topics allow --help'],
    [['tokens', 'create'], 'countersign tokens create --help'],
    [['cancel'], 'countersign cancel --help'],
    [['grants', 'create', '--tool', 'x', '--for', '8h'], 'countersign grants create --help'],
    [['tail', '--after', 'yesterday'], 'countersign tail --help'],
    [['aprove', 'x'], 'countersign --help'],
  ])('%j is told about in %s', async (args, help) => {
    const { code, err } = await run(...args);
    expect(code).toBe(2);
    expect(err.replaceAll('\n', ' ')).toContain(`See \`${help}\`.`);
  });
});

describe('an MCP server that cannot be started', () => {
  it('is told about with a remedy for its command', async () => {
    const { code, err } = await run('mcp', '--', 'no-such-server');
    expect(code).toBe(1);
    expect(err).toContain('no-such-server');
    expect(err).toContain('Check the command after `--`');
    expect(err).not.toContain('--listen');
  });
});
