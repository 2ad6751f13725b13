import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createApiClient, createFrontEnd } from '@countersign/api-client';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { missing, type Tool } from '../../../test/clients/tools.js';
import { buildGo, testGo } from '../../../test/go-examples.js';
import { hasPython, installMsMax, installPython, pythonOf } from '../../../test/python-environment.js';
import { cleanUpAfterAll, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install } from '../../../test/process/harness/standalone.js';

const root = join(import.meta.dirname, '..', '..', '..');
const programs = temporaryFolder();
const desk = { token: 'desk-token', principal: 'support-desk', roles: ['agent', 'front-end'] };
const policy = `version: 1
rules: [{ id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }]
`;

/** The dialogs of the guide: each approves all that the person may decide now. */
const dialogs = {
  Python: {
    source: 'integrations/examples/python/front_end.py',
    command: () => [pythonOf('client'), join(root, 'integrations', 'examples', 'python', 'front_end.py')],
  },
  Go: { source: 'examples/go/frontend/main.go', command: () => [join(programs, 'frontend')] },
  PHP: {
    source: 'integrations/php/examples/dialog.php',
    command: () => ['php', join(root, 'integrations', 'php', 'examples', 'dialog.php')],
  },
} as const;
type Language = keyof typeof dialogs;

let url: string;
cleanUpAfterAll();
beforeAll(async () => {
  const folder = temporaryFolder();
  const tokens = [
    { token: 'agent-token', principal: 'agent', roles: ['agent'] },
    { token: 'me-token', principal: 'me', roles: ['approver'] },
    { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
    { ...desk, people: { groups: ['support', 'ops'] } },
  ];
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const { port } = await install({ COUNTERSIGN_POLICY: join(folder, 'policy.yaml') }, folder);
  url = `http://127.0.0.1:${String(port)}`;
  if (hasPython) await installPython('client', 'integrations/examples/python/requirements.txt');
  if (missing(['Go']).length === 0) buildGo(programs, 'frontend');
}, installMsMax);

/** Requests a refund, which two people must approve. */
async function ask(runId: string): Promise<string> {
  const call = { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50, password: 'hunter2' } };
  const agent = createApiClient({ url, token: 'agent-token' });
  const { data } = await agent.POST('/v1/tool-calls', { body: { runId, calls: [call] } });
  return data?.calls[0]?.approval?.approvalId ?? '';
}

/** Runs the dialog for a person, and returns what it printed and did not. */
async function runDialog(language: Language, ...args: readonly string[]): Promise<string> {
  const [command = '', ...first] = dialogs[language].command();
  const env = { ...process.env, COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: desk.token };
  const { stdout } = await promisify(execFile)(command, [...first, ...args], { env });
  return stdout;
}

async function trial(language: Language, first: readonly string[], second: readonly string[]): Promise<void> {
  const approvalId = await ask(`in-${language}`);
  expect(await runDialog(language, ...first)).toContain('pending');
  // Their vote is there: nothing more to decide.
  expect(await runDialog(language, ...first)).toBe('');
  expect(await runDialog(language, ...second)).toContain('approved');
  const { data } = await createFrontEnd({ url, token: desk.token })
    .as({ id: 'auditor' })
    .GET('/v1/approvals/{approvalId}', { params: { path: { approvalId } } });
  expect(data?.responses.map(({ respondedBy, via }) => [respondedBy, via])).toEqual([
    ['support-desk#Kim Ö, 1', 'support-desk'],
    ['support-desk#lou', 'support-desk'],
  ]);
}

describe('people of a front end answer in their own names', () => {
  const itIn = (language: Language, tools: readonly Tool[], name: string, body: () => Promise<void>): void => {
    const without = missing(tools);
    if (without.length > 0) it.skip(`${name} is not tried without ${without.join(', ')}`, () => undefined);
    else it(name, body);
  };

  itIn('Python', ['Python'], 'in Python', () => trial('Python', ['Kim Ö, 1', 'support'], ['lou', 'ops', 'support']));

  itIn('Go', ['Go'], 'in Go', () => trial('Go', ['Kim Ö, 1', 'support'], ['lou', 'ops', 'support']));

  itIn('PHP', ['PHP with Guzzle'], 'in PHP', () => trial('PHP', ['Kim Ö, 1', 'approve'], ['lou', 'approve']));

  itIn('Python', ['Python'], 'a question is read, revealed and shown as a card in Python', async () => {
    const approvalId = await ask('card-in-python');
    const program = `import asyncio
from countersign_client import CountersignError, FrontEnd

async def main():
    async with FrontEnd("${url}", "${desk.token}") as front_end:
        kim = front_end.as_("kim", ["support"])
        card = await kim.card("${approvalId}", "telegram")
        press = card["presses"][0]["request"]
        print((await kim.reveal("${approvalId}"))["password"], "hunter2" in str(card), card["card"]["text"].splitlines()[0])
        for _ in range(2):
            print((await kim.respond("${approvalId}", key="telegram-2", **press))["state"])
        await kim.withdraw("${approvalId}", key="telegram-3")
        try:
            await kim.respond("${approvalId}", key="telegram-2", **press)
        except CountersignError as error:
            print(error.code)

asyncio.run(main())`;
    const { stdout } = await promisify(execFile)(pythonOf('client'), ['-c', program]);
    expect(stdout).toMatch(/^hunter2 False .*refund.*\npending\npending\nidempotency-key-reused\n$/);
  });

  itIn('Go', ['Go'], 'a question is read, revealed and shown as a card in Go', async () => {
    const env = { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: desk.token, APPROVAL: await ask('card-in-go') };
    const name = 'TestAPersonOfAFrontEndReadsRevealsAndGetsACard';
    expect(testGo('countersign', name, env)).toContain(`--- PASS: ${name}`);
  });

  itIn('Python', ['Python'], 'a group that the token does not list is refused in Python', async () => {
    await expect(runDialog('Python', 'eve', 'admins')).rejects.toThrow('forbidden');
  });

  itIn('Go', ['Go'], 'a group that the token does not list is refused in Go', async () => {
    await expect(runDialog('Go', 'eve', 'admins')).rejects.toThrow('forbidden');
  });
});

it.each([
  ['py', 'Python'],
  ['go', 'Go'],
  ['php', 'PHP'],
] as const)('the code of the guide in %s is part of the example', (tag, language) => {
  const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();
  const guide = readFileSync(join(root, 'docs', 'front-ends.md'), 'utf8');
  const [, shown = ''] = new RegExp(`^\`\`\`${tag}\\n([^]*?)^\`\`\``, 'm').exec(guide) ?? [];
  expect(shown).not.toBe('');
  expect(unindented(readFileSync(join(root, dialogs[language].source), 'utf8'))).toContain(unindented(shown));
});
