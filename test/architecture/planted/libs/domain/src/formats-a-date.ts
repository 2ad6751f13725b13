// breaks: nothing
export const format = (ms: number): string => new Date(ms).toISOString();
