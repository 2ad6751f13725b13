import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { parseShown } from '@countersign/audit';
import { bundleFiles, bundleFormat } from '../../bundle/layout.js';
import type { Manifest, ManifestFile } from '../../bundle/layout.js';
import { columnsOf } from '../../bundle/rules.js';
import { usageError } from '../../cli-error.js';

/** A bundle of ten million events has 80,000 files. Attack: a manifest that fills the memory. */
const manifestBytesMax = 64 * 1024 * 1024;

/** Returns whether a folder is a bundle, by its manifest. */
export function isBundle(folder: string): boolean {
  return existsSync(join(folder, bundleFiles.manifest));
}

/** Reads the manifest of a bundle. Nothing in it is trusted, and it has no member that is not compared. @throws CliError for a file that is none */
export function readManifest(folder: string): Manifest {
  const file = join(folder, bundleFiles.manifest);
  const stats = lstatSync(file);
  if (!stats.isFile() || stats.size > manifestBytesMax) throw noManifest(file);
  const manifest = parseShown(readFileSync(file, 'utf8'));
  if (!isManifest(manifest)) throw noManifest(file);
  if (manifest.rules === undefined || columnsOf(manifest.rules) !== undefined) return manifest;
  throw usageError(
    `${file} names a column that this version does not know.`,
    'Take a newer version of Countersign: it knows the columns of all older ones.',
  );
}

function noManifest(file: string): Error {
  return usageError(`${file} is no manifest of a bundle.`, 'Name a folder that `countersign audit export` wrote.');
}

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value) || value['format'] !== bundleFormat) return false;
  if (!hasOnly(value, ['format', ...Object.keys(members)])) return false;
  return Object.entries(members).every(([name, fits]) => fits(value[name]));
}

function isRange(value: unknown): boolean {
  if (!isObject(value) || !hasOnly(value, ['first', 'size', 'from', 'to'])) return false;
  const { first, size, from, to } = value;
  return first === 0 && isCount(size) && isTextOrNull(from) && isTextOrNull(to);
}

function isRules(value: unknown): boolean {
  if (!isObject(value) || !hasOnly(value, ['masks', 'columns', 'schemaVersion', 'types'])) return false;
  const { masks, columns, schemaVersion, types } = value;
  return (
    typeof masks === 'string' &&
    /^sha256:[0-9a-f]{64}$/.test(masks) &&
    isCount(schemaVersion) &&
    [columns, types].every(areTexts)
  );
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function areFiles(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((file) => isObject(file) && isFile(file));
}

function isFile(file: Readonly<Record<string, unknown>>): boolean {
  const { bytes, sha256 } = file;
  return (
    hasOnly(file, ['bytes', 'sha256']) && isCount(bytes) && typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)
  );
}

function hasOnly(value: object, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** The members of a manifest besides its format. */
const members: Readonly<Record<Exclude<keyof Manifest, 'format'>, (value: unknown) => boolean>> = {
  tenant: isText,
  origin: isTextOrNull,
  epoch: (value) => value === null || isCount(value),
  range: isRange,
  root: isText,
  checkpoint: isTextOrNull,
  values: (value) => value === 'stored' || value === 'clear',
  commitments: isCount,
  rules: (value) => value === undefined || isRules(value),
  files: areFiles,
};

/** A path in a bundle: names with slashes between, none of which leads out of the folder. */
const pathForm = /^(?!\.)[A-Za-z0-9._-]+(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._-]+)*$/;

/**
 * Returns why a file of the manifest must not be read; undefined: it may. Attacks: a path that leads out of the folder, and
 * a link in the place of a file or folder.
 */
export function whyNotIn(folder: string, path: string, { bytes }: ManifestFile): string | undefined {
  if (!pathForm.test(path)) return `the manifest names a path that no bundle has: ${path}`;
  const file = join(folder, path);
  if (!existsSync(file)) return `${path} is missing`;
  const stats = lstatSync(file);
  const isInside = stats.isFile() && realpathSync(file) === join(realpathSync(folder), path);
  if (!isInside) return `${path} is no file of the folder`;
  return stats.size === bytes
    ? undefined
    : `${path} has ${String(stats.size)} bytes, and the manifest says ${String(bytes)}`;
}
