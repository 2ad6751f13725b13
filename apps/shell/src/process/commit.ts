/** The commit that was built, which the bundler writes in its place; null: it is not known. */
export const commit: string | null = process.env['COUNTERSIGN_BUILT_COMMIT'] ?? null;
