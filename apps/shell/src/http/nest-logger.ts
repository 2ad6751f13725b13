import type { LoggerService } from '@nestjs/common';
import type { Log } from '@countersign/runtime';

/** Nest's own words in our log, from warnings on: its start-up chatter is of no use to an operator. */
export function createNestLogger(log: Log): LoggerService {
  const drop = (): undefined => undefined;
  return {
    log: drop,
    debug: drop,
    verbose: drop,
    warn: (message: unknown) => {
      log.warn({}, textOf(message));
    },
    error: (message: unknown, ...more: unknown[]) => {
      // The start fails with this text, which contains the remedy.
      if (/^(Error: )?listen /.test(textOf(message))) return;
      log.error({ error: message instanceof Error ? message : undefined, more }, textOf(message));
    },
    fatal: (message: unknown) => {
      log.error({}, textOf(message));
    },
  };
}

function textOf(message: unknown): string {
  if (message instanceof Error) return message.message;
  return typeof message === 'string' ? message : JSON.stringify(message);
}
