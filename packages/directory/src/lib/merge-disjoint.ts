/** Several tables as one, where a name in two of them is a mistake: one would silently give way to the other. */

/** @throws TypeError for a name that two of the tables have. */
export function mergeDisjoint<T>(
  tables: readonly (Readonly<Record<string, T>> | undefined)[],
): Readonly<Record<string, T>> {
  const all = new Map<string, T>();
  for (const [name, value] of tables.flatMap((table) => Object.entries(table ?? {}))) {
    if (all.has(name)) throw new TypeError(`${name} is there twice`);
    all.set(name, value);
  }
  return Object.fromEntries(all);
}
