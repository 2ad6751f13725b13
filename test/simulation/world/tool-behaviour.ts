import type { JsonValue } from '@countersign/contracts';
import { hangPerhaps } from './machine.ts';
import type { Machine } from './machine.ts';
import type { Outside, ToolRequest, ToolRunRecord } from './outside.ts';
import type { World } from './world.ts';

/** How a try to run a tool ended, as its caller sees it. */
export type Tried =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue }
  | { readonly status: 'not-sent'; readonly code: string; readonly message: string }
  | { readonly status: 'unknown'; readonly message: string };

const kinds = [
  'works',
  'works',
  'works',
  'works',
  'fails',
  'cut',
  'cut',
  'hangs',
  'not-sent',
  'kills',
  'dies',
] as const;

/**
 * Runs a tool once: it works, fails, is never reached, is cut off before or after its effect, hangs, or crashes its
 * process.
 */
export async function tryTool(
  world: World,
  outside: Outside,
  machine: Machine,
  request: ToolRequest,
  signal: AbortSignal,
): Promise<Tried> {
  const { random } = world;
  const kind = world.isHealed() ? 'works' : random.pick(kinds);
  if (kind === 'not-sent') return { status: 'not-sent', code: 'refused', message: 'no answer' };
  const work = async (run: ToolRunRecord): Promise<Tried> => {
    // A second attempt is slow, so that the first one may return meanwhile.
    const isLong = request.attempt > 1 || random.chance(0.2);
    await world.wait(random.below(isLong ? 20_000 : 2_000));
    if (kind === 'kills') machine.kill('the tool took it along');
    if (kind === 'hangs') await hang(world, signal);
    if (kind === 'fails') return { status: 'failed', error: { message: 'it cannot be done' } };
    if ((kind === 'cut' || kind === 'hangs') && random.chance(0.5)) return { status: 'unknown', message: 'cut off' };
    const output = outside.effect(run);
    if (kind === 'dies') machine.kill('it died with the answer in its hands');
    await world.wait(random.below(500));
    return kind === 'works' ? { status: 'succeeded', output } : { status: 'unknown', message: 'the answer was lost' };
  };
  return machine.call(async () => {
    const run = outside.begin(request, machine.name);
    try {
      void hangPerhaps(world, machine);
      return await work(run);
    } finally {
      run.isOver = true;
    }
  });
}

/** A tool that hangs ends some time later, with or without its effect. */
async function hang(world: World, signal: AbortSignal): Promise<void> {
  const until = world.clock.monotonic() + world.random.below(60_000);
  while (!signal.aborted && world.clock.monotonic() < until) await world.wait(1_000);
}
