import type { Metadata, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { ServerLog } from './log.ts';
import { failure } from './status-errors.ts';

/** The operation of a caller on a stream: read, write, delete, read and write its metadata. */
export type Right = '$r' | '$w' | '$d' | '$mr' | '$mw';

/** The users of a server and what each may do. Without users the server is open, as with `--insecure`. */
export interface Rights {
  readonly isOpen: boolean;
  /** The refusal of a call, as the server words it; undefined: it may go on. */
  readonly refusal: (caller: Metadata, right: Right, stream: string) => ServiceError | undefined;
  /** The same for calls that only admins may make. */
  readonly refusalToManage: (caller: Metadata) => ServiceError | undefined;
  readonly find: (name: string) => User | undefined;
  /** False when the name exists. */
  readonly create: (name: string, password: string, groups: readonly string[]) => boolean;
  readonly setPassword: (name: string, password: string) => boolean;
}

export interface User {
  password: string;
  readonly groups: readonly string[];
  /** The server refuses it with any password. */
  isDisabled?: boolean;
}

type Acl = Readonly<Partial<Record<Right, string | readonly string[]>>>;

const admins = '$admins';
const everybody = '$all';
const builtIn = {
  $userStreamAcl: { $r: everybody, $w: everybody, $d: everybody, $mr: everybody, $mw: everybody },
  $systemStreamAcl: { $r: admins, $w: admins, $d: admins, $mr: admins, $mw: admins },
} as const;

/**
 * @param adminPassword the password of `admin`; undefined: the server has no users.
 * @param takeMs the delay before new rights take effect.
 */
export function createRights(log: ServerLog, adminPassword: string | undefined, takeMs = 0): Rights {
  const users = new Map<string, User>();
  if (adminPassword !== undefined) users.set('admin', { password: adminPassword, groups: [admins] });
  const isOpen = adminPassword === undefined;

  const callerOf = (caller: Metadata): readonly string[] | undefined => {
    const [header] = caller.get('authorization').map(String);
    // An anonymous caller may do only what everyone may.
    if (header === undefined) return [];
    const [name = '', ...rest] = Buffer.from(header.replace(/^Basic /i, ''), 'base64')
      .toString()
      .split(':');
    const user = users.get(name);
    return user === undefined || user.isDisabled === true || user.password !== rest.join(':')
      ? undefined
      : [name, ...user.groups];
  };
  const judge = (caller: Metadata, allows: (names: readonly string[]) => boolean): ServiceError | undefined => {
    if (isOpen) return undefined;
    const names = callerOf(caller);
    if (names === undefined) return failure(status.UNAUTHENTICATED, 'Bad HTTP status code: 401');
    if (names.includes(admins) || allows(names)) return undefined;
    return failure(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
  };
  return {
    isOpen,
    refusal: (caller, wanted, named) => {
      const isMetadata = named.startsWith('$$');
      const stream = isMetadata ? named.slice(2) : named;
      const right = isMetadata && wanted !== '$d' ? (wanted === '$r' ? '$mr' : '$mw') : wanted;
      return judge(caller, (names) => {
        const allowed = [allowedIn(log, stream, right, Date.now() - takeMs)].flat();
        return names.length > 0 && allowed.some((name) => name === everybody || names.includes(name));
      });
    },
    refusalToManage: (caller) => judge(caller, () => false),
    find: (name) => users.get(name),
    create: (name, password, groups) => {
      if (users.has(name)) return false;
      users.set(name, { password, groups });
      return true;
    },
    setPassword: (name, password) => {
      const user = users.get(name);
      if (user !== undefined) user.password = password;
      return user !== undefined;
    },
  };
}

/** The stream's own ACL, then the default of `$settings`, then the built-in one. */
function allowedIn(log: ServerLog, stream: string, right: Right, until: number): string | readonly string[] {
  const kind = stream.startsWith('$') ? '$systemStreamAcl' : '$userStreamAcl';
  const own = lastOf(log, `$$${stream}`, until)?.['$acl'] as Acl | undefined;
  const byDefault = lastOf(log, '$settings', until)?.[kind] as Acl | undefined;
  return own?.[right] ?? byDefault?.[right] ?? builtIn[kind][right];
}

function lastOf(log: ServerLog, stream: string, until: number): Readonly<Record<string, unknown>> | undefined {
  const written = log.readStream(stream, Number.MAX_SAFE_INTEGER, 'backwards', 10);
  const last = written.find(({ createdMs }) => createdMs <= until);
  return last === undefined ? undefined : (JSON.parse(Buffer.from(last.data).toString()) as Record<string, unknown>);
}
