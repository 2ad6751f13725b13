// breaks: no-restricted-syntax
export const wait = async (): Promise<void> => Promise.resolve();
