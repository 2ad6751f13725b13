import type { CancelRunPorts } from './people/cancel-run.js';
import type { CommandHandler, Decide } from './stream/handle-command.js';
import type { CommandPorts } from './ports.js';

/** A command that was only to be recognised would record something. */
export class WouldWriteError extends Error {
  override readonly name = 'WouldWriteError';
}

/**
 * The same ports without the right to write. A command over them has its usual result when it adds nothing, because it is
 * recorded already or because it is refused. @throws WouldWriteError from every command that would record something.
 */
export function withoutWrites(ports: CancelRunPorts): CancelRunPorts {
  const { commands, store } = ports;
  const { grants } = commands;
  const readOnly: CommandPorts = {
    ...commands,
    writeOnly: false,
    handler: neverWriting(commands.handler),
    batches: neverWriting(commands.batches),
    passkeys: { ...commands.passkeys, handler: neverWriting(commands.passkeys.handler) },
    stops: { ...commands.stops, handler: neverWriting(commands.stops.handler) },
    ...(grants !== undefined && { grants: { ...grants, handler: neverWriting(grants.handler) } }),
  };
  const append = (stream: string): Promise<never> => Promise.reject(new WouldWriteError(stream));
  return { ...ports, commands: readOnly, store: { readStream: store.readStream, append } };
}

function neverWriting<State, Event>(handler: CommandHandler<State, Event>): CommandHandler<State, Event> {
  return {
    ...handler,
    handleCommand: (stream, decide, meta) => {
      const decideAlone: Decide<State, Event> = async (state, lateMs) => {
        const result = await decide(state, lateMs);
        if (result.status === 'accepted' && result.events.length > 0) throw new WouldWriteError(stream);
        return result;
      };
      return handler.handleCommand(stream, decideAlone, { ...meta, writeOnly: false });
    },
  };
}
