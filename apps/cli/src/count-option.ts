import { InvalidArgumentError } from 'commander';

/** A whole number from 1. @throws InvalidArgumentError for anything else. */
export function count(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 1 or more.');
}

/** A whole number from 0. @throws InvalidArgumentError for anything else. */
export function indexOption(text: string): number {
  if (/^(?:0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, 0 or more.');
}
