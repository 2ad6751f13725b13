import type { Actor, Result } from '@countersign/commands';
import { refused, written } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';
import { whenShown } from './visibility.js';

/** The writer, and the id that identifies a retry of the command. */
export interface WriteContext {
  readonly actor: Actor;
  readonly commandId: string;
}

/** Long enough for a projection that is busy; the write itself is safe already. */
export const shownMsMax = 10_000;

/** Finishes a command: counts it and, if it succeeded, responds once every read shows it. */
export async function conclude<T>(
  ports: GatewayPorts,
  command: string,
  outcome: Result<T>,
  view: (value: T) => unknown,
  statusOf: (value: T) => 200 | 201 | 202 = () => 200,
): Promise<Answer> {
  if (outcome.status === 'refused') {
    ports.metrics.commandEnded(command, outcome.refusal.code);
    return refused(outcome.refusal);
  }
  ports.metrics.commandEnded(command, 'done');
  const waiting = whenShown(ports, outcome.position, shownMsMax);
  if (waiting !== undefined) await waiting;
  const position = outcome.position > 0 ? outcome.position : ports.readModel.checkpoint();
  return written(statusOf(outcome.value), view(outcome.value), position);
}
