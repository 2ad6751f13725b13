import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** One conversation, or one call, without and with Countersign; each returns `done`. */
interface Subject {
  readonly alone: () => Promise<string>;
  readonly behind: () => Promise<string>;
}

/** The times without and with one adapter or the gate, in ms. */
export interface UngatedTimes {
  readonly name: string;
  readonly aloneMs: number;
  readonly behindMs: number;
  /** The median of the differences of neighbouring conversations. */
  readonly addedMs: number;
}

/** Protocols show what is pending, so that they ask the ledger in each run, also in one without calls. */
const protocols: Readonly<
  Record<string, () => Promise<{ readonly subjectOn: (url: string, token: string) => Subject }>>
> = {
  'ag-ui': () => import('../integrations/adapters/ag-ui/conformance/ungated.ts'),
  a2a: () => import('../integrations/adapters/a2a/conformance/ungated.ts'),
};

const frameworks = join(import.meta.dirname, '..', 'integrations', 'adapters', 'node_modules');
const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  'ai-sdk': () => import('../integrations/adapters/ai-sdk/conformance/ungated.ts'),
  'openai-agents': () => import('../integrations/adapters/openai-agents/conformance/ungated.ts'),
  langchain: () => import('../integrations/adapters/langchain/conformance/ungated.ts'),
  mastra: () => import('../integrations/adapters/mastra/conformance/ungated.ts'),
};

/**
 * Measures the framework alone and with the adapter, in turn. No server is there: a conversation that asks the ledger about an ungated
 * call fails, and so does the benchmark. Undefined where the frameworks are not installed; in CI that is an error.
 */
export async function measureUngated(pairs: number): Promise<readonly UngatedTimes[] | undefined> {
  if (!existsSync(frameworks)) {
    const why = 'the agent frameworks are not installed: run `npm run adapters`';
    if (process.env['CI'] === 'true') throw new Error(why);
    process.stderr.write(`bench: skipped: ungated calls; ${why}\n`);
    return undefined;
  }
  const times: UngatedTimes[] = [];
  for (const [name, load] of Object.entries(subjects)) times.push(await timesOf(name, await load(), pairs));
  return times;
}

/** Measures a run without calls, of the agent alone and behind a protocol that shows what is pending on a running server. */
export async function measureProtocols(
  { port, tokens }: { readonly port: number; readonly tokens: Readonly<Record<string, string>> },
  pairs: number,
): Promise<readonly UngatedTimes[]> {
  if (!existsSync(frameworks)) return [];
  const times: UngatedTimes[] = [];
  for (const [name, load] of Object.entries(protocols)) {
    const { subjectOn } = await load();
    times.push(await timesOf(name, subjectOn(`http://127.0.0.1:${String(port)}`, tokens['agent'] ?? ''), pairs));
  }
  return times;
}

/** Measures both in turn, after a warm-up. */
export async function timesOf(name: string, subject: Subject, pairs: number): Promise<UngatedTimes> {
  await measurePairs(subject, Math.ceil(pairs / 4));
  const measured = await measurePairs(subject, pairs);
  return {
    name,
    aloneMs: median(measured.map(([alone]) => alone)),
    behindMs: median(measured.map(([, behind]) => behind)),
    addedMs: median(measured.map(([alone, behind]) => behind - alone)),
  };
}

/** The order of the two changes with each pair. */
async function measurePairs(
  { alone, behind }: Subject,
  pairs: number,
): Promise<readonly (readonly [alone: number, behind: number])[]> {
  const measured: [number, number][] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    if (pair % 2 === 0) measured.push([await timeOf(alone), await timeOf(behind)]);
    else {
      const first = await timeOf(behind);
      measured.push([await timeOf(alone), first]);
    }
  }
  return measured;
}

async function timeOf(converse: () => Promise<string>): Promise<number> {
  const startedAt = performance.now();
  const last = await converse();
  if (last !== 'done') throw new Error(`the conversation ended with "${last}"`);
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}
