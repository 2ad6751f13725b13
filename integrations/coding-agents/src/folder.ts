import { jcsDigest } from '@countersign/contracts';
import { isAbsolute, resolve } from 'node:path';
import { HookInputError, type AgentCall, type ToolServer } from './agent.js';
import type { HookOptions } from './options.js';

/** How links in a path are resolved. */
type Links = Pick<HookOptions, 'realpath'>;

/** The longest value of a label. */
const labelMax = 512;
/** The endpoint covers the whole name. */
const serverNameMax = 256;
const unknownRemedy = 'Check which agent the command names, and begin a new session.';
const otherRemedy = 'Let the agent work in another folder.';
/** There is no such folder here. It may be the folder of an agent in a container. */
const missing = ['ENOENT', 'ENOTDIR'];

/**
 * Resolves to the folder of a call for people and policy, without links and dots. Rejects with a `HookInputError` for one
 * that the ledger cannot record whole. The attacks: a rule blocks calls in a folder, and the agent makes a folder in it whose
 * path is too long to be recorded, or a link to it; people approve a call in a folder, and the agent has a link in its place.
 */
export async function folderOf({ cwd }: AgentCall, links: Links): Promise<string> {
  if (cwd === undefined) throw new HookInputError('the folder ("cwd") of the call is not known', unknownRemedy);
  const folder = isAbsolute(cwd) && cwd.isWellFormed() ? await withoutLinks(cwd, links) : cwd;
  const problem = whyUnfit(folder);
  if (problem === undefined) return folder;
  throw new HookInputError(`the folder in which the agent works ${problem}`, otherRemedy);
}

/** The call in its folder without links, as it is asked for; unchanged where its folder cannot be told. */
export async function inRealFolder(call: AgentCall, links: Links): Promise<AgentCall> {
  const cwd = await folderOf(call, links).catch(() => call.cwd);
  return { ...call, cwd };
}

async function withoutLinks(cwd: string, { realpath }: Links): Promise<string> {
  try {
    return await realpath(cwd);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (missing.includes(code)) return resolve(cwd);
    throw new HookInputError(`the folder in which the agent works cannot be looked up (${code})`, otherRemedy);
  }
}

function whyUnfit(cwd: string): string | undefined {
  if (!isAbsolute(cwd)) return 'is not an absolute path';
  if (!cwd.isWellFormed()) return 'has a lone surrogate in its path';
  if (cwd.length > labelMax) return `has a path of more than ${String(labelMax)} characters`;
  return undefined;
}

/** What a call is relative to. */
interface Place {
  readonly cwd: string;
  readonly server?: ToolServer | undefined;
}

/**
 * The folder and the server as calls name them in the ledger, in their `batchId`: each call shows that, also without an approval, and
 * the ledger refuses a repeated call with another one.
 */
export function placeIdOf({ cwd, server }: Place): string {
  const place = server === undefined ? cwd : [cwd, server.name ?? null, server.endpoint];
  return `${server === undefined ? 'folder' : 'place'}_${jcsDigest(place).replace(/^sha256:/, '')}`;
}

/** The labels of a call, for people, rules and grants: what its tool and its arguments are relative to. */
export function placeLabelsOf({ cwd, server }: Place): Readonly<Record<string, string>> {
  if (server === undefined) return { cwd };
  const name = server.name?.slice(0, serverNameMax).toWellFormed();
  return { cwd, ...(name === undefined ? {} : { mcpServer: name }), mcpEndpoint: server.endpoint };
}
