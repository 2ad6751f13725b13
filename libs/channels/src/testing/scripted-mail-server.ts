import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { MailStep } from '../answers/mail-answers.js';

/** A mail server that answers one command with a given reply, and every other one as usual. */
export interface ScriptedMailServer {
  readonly url: string;
  /** What the next sessions get; undefined: every mail is taken. */
  script: { readonly at: MailStep; readonly reply: string } | undefined;
  /** How many mails were taken. */
  readonly taken: () => number;
  readonly close: () => Promise<void>;
}

const usual = [
  [/^EHLO/i, 'connect', '250-mail.example\r\n250 AUTH PLAIN'],
  [/^AUTH/i, 'AUTH', '235 2.7.0 signed in'],
  [/^MAIL/i, 'MAIL', '250 2.1.0 fine'],
  [/^RCPT/i, 'RCPT', '250 2.1.5 fine'],
  [/^DATA/i, undefined, '354 go on'],
  [/^\.$/, 'DATA', '250 2.0.0 taken'],
  [/^(RSET|NOOP)/i, undefined, '250 2.0.0 fine'],
  [/^QUIT/i, undefined, '221 2.0.0 bye'],
] as const;

export async function openScriptedMailServer(): Promise<ScriptedMailServer> {
  let taken = 0;
  const sockets = new Set<Socket>();
  const opened = { script: undefined as ScriptedMailServer['script'] };
  const replyTo = (step: MailStep | undefined, fine: string): string => {
    const { script } = opened;
    if (step !== undefined && script?.at === step) return script.reply.replaceAll('\n', '\r\n');
    if (step === 'DATA') taken += 1;
    return fine;
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let isContent = false;
    let left = '';
    socket.write(`${replyTo('connect', '220 mail.example ready')}\r\n`);
    socket.on('data', (chunk: Buffer) => {
      const lines = `${left}${chunk.toString()}`.split('\r\n');
      left = lines.pop() ?? '';
      for (const line of lines) {
        if (isContent && line !== '.') continue;
        const [, step, fine] = usual.find(([pattern]) => pattern.test(line)) ?? [undefined, undefined, '500 what'];
        isContent = /^DATA/i.test(line);
        socket.write(`${replyTo(step === 'connect' ? undefined : step, fine)}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(opened, {
    url: `smtp://c:canary-password@127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    taken: () => taken,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
