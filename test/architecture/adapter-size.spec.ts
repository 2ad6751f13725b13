import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const adapters = join(import.meta.dirname, '..', '..', 'integrations', 'adapters');
const linesMax = 300;

/** The adapters that are longer, with the reason. */
const longer: Readonly<Record<string, { readonly lines: number; readonly reason: string }>> = {
  'agent-framework': {
    lines: 345,
    reason:
      'It also takes code that denies calls, before and after a pause, and finds the calls that the framework keeps for after it.',
  },
  'ai-sdk': {
    lines: 927,
    reason:
      'The state of a run is the messages, in two forms that a client may forge: each is compared with the ledger. A browser that only watched a decision lacks what the framework demands.',
  },
  langchain: {
    lines: 465,
    reason:
      'It also has the shapes of the human-in-the-loop middleware and of Agent Inbox, and tells the program of errors that the framework gives to the model alone. A yes names the other calls that it releases.',
  },
  'openai-agents': {
    lines: 650,
    reason:
      'It takes or refuses each option of the framework by its name, and each call of a stored state by its id. An agent as a tool pauses in the middle.',
  },
  python: {
    lines: 930,
    reason:
      'Python has no worker SDK: this is the client with its guards against a hostile server or proxy, the part of the SDK that the adapters need, with denials in code, and front ends with the keys of their own updates.',
  },
};

/** The lines of an adapter without its tests, in TypeScript or Python. */
function linesOf(adapter: string): number {
  const files = readdirSync(join(adapters, adapter), { recursive: true, encoding: 'utf8' });
  const own = files.filter((file) => /^(src|countersign_\w+)\/.*\.(ts|py)$/.test(file) && !file.endsWith('.spec.ts'));
  return own.reduce((sum, file) => sum + readFileSync(join(adapters, adapter, file), 'utf8').split('\n').length - 1, 0);
}

const names = readdirSync(adapters, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
  .map(({ name }) => name);

it.each(names)('the adapter %s has at most 300 lines, or a reason', (name) => {
  const lines = linesOf(name);
  expect(lines).toBeGreaterThan(50);
  expect(lines).toBeLessThanOrEqual(longer[name]?.lines ?? linesMax);
});
