/**
 * Whether a value is a `Response`. Node's HTTP adapter of hono replaces the global class, of which what `fetch` answered, and
 * a clone, is no instance.
 */
export function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]';
}
