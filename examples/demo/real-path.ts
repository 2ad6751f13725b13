import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

const linksMax = 32;

/**
 * The real path seen from `folder`: `..` resolved and every link followed, also where the last parts do not exist yet,
 * and through a link to a missing target (writing to it would create the target). The real path of a real path is
 * itself.
 */
export function realPath(folder: string, path: string): string {
  return follow(resolve(realpathSync(folder), path), linksMax);
}

function follow(path: string, linksLeft: number): string {
  if (linksLeft === 0) throw new Error(`too many links in ${path}`);
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  if (isLink(path)) return follow(resolve(dirname(path), readlinkSync(path)), linksLeft - 1);
  const parent = dirname(path);
  return parent === path ? path : join(follow(parent, linksLeft), basename(path));
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Returns whether a real path is the folder or within it. */
export function isWithin(folder: string, path: string): boolean {
  const root = realpathSync(folder);
  return path === root || path.startsWith(root + sep);
}
