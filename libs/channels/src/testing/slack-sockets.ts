import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';
import type { Received, VendorAnswer } from './vendor-server.js';

/** The acknowledgement of an envelope. */
export interface Acknowledged {
  /** Its payload. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly afterMs: number;
}

export interface Envelope {
  readonly envelope_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly accepts_response_payload: boolean;
}

/** Slack's end of socket mode, as strict as its documentation. */
export interface SlackSockets {
  /** `apps.connections.open`: a url for one connection. */
  readonly open: (request: Received, url: string) => VendorAnswer;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Sends an envelope over the newest connection. Resolves with its acknowledgement, rejects without one within 3 s.
   */
  readonly deliver: (envelope: Envelope) => Promise<Acknowledged>;
  /** Sends a text as it is. */
  readonly say: (text: string) => void;
  /** Announces the end of the connections, and ends those that the client does not end. */
  readonly refresh: (reason: 'warning' | 'refresh_requested' | 'link_disabled') => void;
  /** Breaks the connections without a word. */
  readonly drop: () => void;
  /** How many connections were opened, and how many are open. */
  readonly opened: () => number;
  readonly connected: () => number;
  /** The client's violations of Slack's documentation. */
  readonly violations: readonly string[];
  /** Sends no hello to connections that are opened from now on. */
  silent: boolean;
  readonly close: () => Promise<void>;
}

const ackSchema = z.strictObject({ envelope_id: z.uuid(), payload: z.record(z.string(), z.unknown()).optional() });
const ackMs = 3_000;

/** An envelope with a press or a modal; only a modal's submission accepts a payload in its acknowledgement. */
export function interactive(payload: { readonly type: string }): Envelope {
  const isModal = payload.type === 'view_submission';
  return { envelope_id: randomUUID(), type: 'interactive', payload, accepts_response_payload: isModal };
}

export function createSlackSockets(appToken: string): SlackSockets {
  const server = new WebSocketServer({ noServer: true });
  const tickets = new Set<string>();
  const violations: string[] = [];
  const waiting = new Map<string, { envelope: Envelope; sentAt: number; done: (ack: Acknowledged) => void }>();
  let opened = 0;
  const newest = (): WebSocket => {
    const socket = [...server.clients].findLast(({ readyState, OPEN }) => readyState === OPEN);
    if (socket === undefined) throw new Error('no client is connected');
    return socket;
  };

  const acknowledge = (data: RawData, isBinary: boolean): void => {
    const ack = isBinary ? undefined : ackSchema.safeParse(JSON.parse((data as Buffer).toString())).data;
    const one = waiting.get(ack?.envelope_id ?? '');
    if (ack === undefined || one === undefined) {
      violations.push(`no acknowledgement of anything: ${isBinary ? 'binary' : (data as Buffer).toString()}`);
      return;
    }
    waiting.delete(ack.envelope_id);
    const { payload = {} } = ack;
    const isAnswer = Object.keys(payload).length > 0;
    if (isAnswer && !one.envelope.accepts_response_payload) violations.push('an answer to what takes none');
    one.done({ payload, afterMs: performance.now() - one.sentAt });
  };

  const connect = (socket: WebSocket, isSilent: boolean): void => {
    opened += 1;
    socket.on('message', acknowledge);
    const hello = { type: 'hello', connection_info: { app_id: 'A1' }, num_connections: server.clients.size };
    const debug = {
      host: 'applink-1',
      started: '2026-11-22 10:00:00.000',
      build_number: 1,
      approximate_connection_time: 18_060,
    };
    if (!isSilent) socket.send(JSON.stringify({ ...hello, debug_info: debug }));
    socket.ping();
  };

  const sockets: SlackSockets = {
    silent: false,
    open: ({ headers }, url) => {
      if (headers.authorization === undefined) return { body: { ok: false, error: 'not_authed' } };
      const isApp = headers.authorization === `Bearer ${appToken}`;
      const error = headers.authorization.startsWith('Bearer xoxb-') ? 'not_allowed_token_type' : 'invalid_auth';
      if (!isApp) return { body: { ok: false, error } };
      const ticket = randomUUID();
      tickets.add(ticket);
      return { body: { ok: true, url: `${url.replace(/^http/, 'ws')}/link/?ticket=${ticket}&app_id=A1` } };
    },
    upgrade: (request, socket, head) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'ws://localhost');
      if (pathname !== '/link/' || !tickets.delete(searchParams.get('ticket') ?? '')) {
        socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
        return;
      }
      server.handleUpgrade(request, socket, head, (connection) => connect(connection, sockets.silent));
    },
    deliver: (envelope) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('not acknowledged within 3 s')), ackMs);
        const done = (ack: Acknowledged): void => {
          clearTimeout(timer);
          resolve(ack);
        };
        waiting.set(envelope.envelope_id, { envelope, sentAt: performance.now(), done });
        newest().send(JSON.stringify(envelope));
      }),
    say: (text) => newest().send(text),
    refresh: (reason) => {
      for (const socket of server.clients) {
        socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'applink-1' } }));
      }
    },
    drop: () => {
      for (const socket of server.clients) socket.terminate();
    },
    opened: () => opened,
    connected: () => server.clients.size,
    violations,
    close: () => {
      sockets.drop();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return sockets;
}
