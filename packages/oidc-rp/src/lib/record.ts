/** Reads JSON of unknown shape. */

/** Whether a value is a JSON object, so that its members can be read as unknown. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a non-empty string, or undefined for anything else. */
export function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
