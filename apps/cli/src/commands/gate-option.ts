import { Option } from 'commander';

/** `--gate` of the commands that put tools of others behind approval. */
export function gateOption(): Option {
  return new Option(
    '--gate <which>',
    'calls that need a person: of tools that write, all, or none unless the policy says so',
  )
    .choices(['writes', 'all', 'none'])
    .default('writes');
}

/** `--read-only` of the commands that know a tool by its name alone. */
export function readOnlyOption(): Option {
  return new Option(
    '--read-only <glob...>',
    'more tools that --gate writes takes for reading; trusts every tool with such a name',
  );
}
