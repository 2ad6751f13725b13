import type { StopEffect, StopsView } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { safeJson } from '../text/printable.js';
import { effectLines, stopLines } from '../view/stop-lines.js';

/** The options of `countersign stop`. */
export interface StopOptions {
  readonly all?: boolean;
  readonly agent?: string;
  readonly tool?: string;
  readonly tenant?: string;
  readonly reason: string;
}

const path = '/v1/stops';

/** `countersign stop`: declares a stop, and prints what it holds back. */
export async function stop(
  invocation: Invocation,
  { all = false, agent, tool, tenant, reason }: StopOptions,
): Promise<ExitCode> {
  const isPart = agent !== undefined || tool !== undefined || tenant !== undefined;
  if (all === isPart) throw usageError('Give --all, or one or more of --agent, --tool and --tenant.');
  const body = {
    ...(tenant !== undefined && { tenant }),
    ...(agent !== undefined && { agentId: agent }),
    ...(tool !== undefined && { toolName: tool }),
    reason,
  };
  return print(invocation, await invocation.client.post<StopEffect>(path, { body: safeJson(body) }));
}

/** `countersign resume`: lists the stops, shows one, or lifts it. */
export async function resume(
  invocation: Invocation,
  stopId: string | undefined,
  { reason }: { readonly reason?: string },
): Promise<ExitCode> {
  const { client, columns } = invocation;
  if (stopId === undefined) {
    if (reason !== undefined) throw usageError('Name the stop to lift: `countersign resume` lists them.');
    const { stops } = await client.get<StopsView>(path);
    for (const one of stops) invocation.printJson(one);
    invocation.print(...stops.flatMap((one) => stopLines(one, columns)));
    if (stops.length === 0) invocation.print({ text: 'Nothing was stopped.' });
    return exitCodes.ok;
  }
  const one = `${path}/${encodeURIComponent(stopId)}`;
  if (reason === undefined) return print(invocation, await client.get<StopEffect>(one));
  return print(invocation, await client.post<StopEffect>(`${one}/lift`, { body: { reason } }));
}

function print(invocation: Invocation, effect: StopEffect): ExitCode {
  invocation.printJson(effect);
  invocation.print(...effectLines(effect, invocation.columns));
  return exitCodes.ok;
}
