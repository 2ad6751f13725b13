import type { ApprovalFilters } from '../commands/list.js';
import { sendResponse } from '../commands/respond.js';
import { toCliError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { problemWords } from '../view/problem-words.js';
import { responseSentWords } from '../view/response-words.js';
import { editJson, NotArgumentsError } from './editor.js';
import { reduceInbox } from './inbox-reducer.js';
import type { Frame } from './inbox-screen.js';
import { renderInbox } from './inbox-screen.js';
import type { Effect, Message } from './inbox-state.js';
import { initialInboxState } from './inbox-state.js';
import { createKeyReader } from './keys.js';
import type { FeedListener, PendingFeed } from './pending-feed.js';
import { createPendingFeed } from './pending-feed.js';
import { createScreen } from './screen.js';

const tickMs = 1000;
/** With more waiting than loaded, the next are loaded when fewer than this are left. */
const leftMin = 100;

/** The interactive inbox, until it is left. Connects the pure inbox with keyboard, screen, editor and server. */
export async function runInbox(invocation: Invocation, filters: ApprovalFilters): Promise<ExitCode> {
  const ended = new AbortController();
  const session = createSession(invocation, filters, () => ended.abort());
  const signal = AbortSignal.any([ended.signal, invocation.terminal.interrupted]);
  // Runs before the full screen opens, so an error here is printed as for any command.
  const position = await session.feed.load();
  session.open();
  const ticker = setInterval(session.draw, tickMs);
  try {
    await session.feed.follow(position, signal);
    await session.settled();
  } finally {
    clearInterval(ticker);
    session.close();
  }
  return invocation.terminal.interrupted.aborted ? exitCodes.interrupted : exitCodes.ok;
}

interface Session {
  readonly feed: PendingFeed;
  readonly open: () => void;
  readonly close: () => void;
  readonly draw: () => void;
  /** Resolves when no request to the server is in flight. */
  readonly settled: () => Promise<void>;
}

function createSession(invocation: Invocation, filters: ApprovalFilters, quit: () => void): Session {
  const { terminal, client, style } = invocation;
  const { stdin, stdout } = terminal;
  const screen = createScreen(stdout, style);
  const readKeys = createKeyReader();
  let state = initialInboxState;
  let frame: Frame = { lines: [], scrollMax: 0, page: 1, shown: undefined };
  let work: Promise<unknown> = Promise.resolve();

  const draw = (force = false): void => {
    const { columns, rows } = stdout;
    frame = renderInbox(state, {
      columns: columns > 0 ? columns : 80,
      rows: rows > 0 ? rows : 24,
      nowMs: client.serverNow(),
      url: client.url,
    });
    screen.draw(frame.lines, force);
  };
  const tell = (message: Message): void => {
    const step = reduceInbox(state, message);
    state = step.state;
    draw();
    if (step.effect !== undefined) run(step.effect);
  };
  const feed = createPendingFeed(client, filters, listenerOf(tell, client.serverNow));
  const run = (effect: Effect): void => {
    if (effect.type === 'quit') quit();
    else if (effect.type === 'redraw') draw(true);
    else work = work.then(() => (effect.type === 'edit' ? edit(effect) : respond(effect)));
  };
  const respond = async ({ approval, decision, remarks }: Extract<Effect, { type: 'respond' }>): Promise<void> => {
    const { approvalId } = approval;
    try {
      const after = await sendResponse(client, approvalId, decision, remarks);
      tell({ type: 'sent', approval: after, words: responseSentWords(decision.type, after) });
    } catch (error) {
      const { problem, remedy } = toCliError(error);
      const words = [problemWords(problem, client.serverNow()), remedy].filter((part) => part !== '').join(' ');
      tell({ type: 'refused', approvalId, words });
      await feed.refresh(approvalId).catch(() => undefined);
    }
    if (state.hasMore && state.approvals.length < leftMin) await feed.load().catch(() => undefined);
  };
  const edit = async ({ approval, text: draft }: Extract<Effect, { type: 'edit' }>): Promise<void> => {
    close();
    try {
      const { value, text } = await editJson(approval.arguments, terminal, draft);
      open();
      tell({ type: 'edited', approval, value, text });
    } catch (error) {
      open();
      const text = error instanceof NotArgumentsError ? error.text : draft;
      tell({ type: 'edit-failed', approvalId: approval.approvalId, text, words: toCliError(error).message });
    }
  };
  const onData = (piece: string): void => {
    for (const key of readKeys(piece)) {
      const { scrollMax, page, shown } = frame;
      tell({ type: 'key', key, scrollMax, page, shown });
    }
  };
  const onResize = (): void => draw(true);
  const open = (): void => {
    stdin.setRawMode(true);
    stdin.setEncoding('utf8').on('data', onData).resume();
    stdout.on('resize', onResize);
    screen.enter();
    draw(true);
  };
  const close = (): void => {
    screen.leave();
    stdout.off('resize', onResize);
    stdin.off('data', onData).pause();
    stdin.setRawMode(false);
  };
  return { feed, open, close, draw, settled: () => work.then(() => undefined) };
}

function listenerOf(tell: (message: Message) => void, now: () => number): FeedListener {
  return {
    loaded: (approvals, hasMore) => tell({ type: 'loaded', approvals, hasMore }),
    changed: (approval) => tell({ type: 'changed', approval, nowMs: now() }),
    connection: (connection) => tell({ type: 'connection', connection }),
    restored: () => tell({ type: 'restored' }),
  };
}
