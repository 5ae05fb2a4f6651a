/** Leaves out shared parts that nothing in the document points at, such as the response of a status nobody answers. */

/** Kinds of components that are pointed at. Security schemes are named instead. */
const POINTED_AT: ReadonlySet<string> = new Set(['schemas', 'responses', 'parameters', 'headers']);

type WithComponents = { readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

/** The document without unused components. */
export function pruneComponents<Document extends WithComponents>(document: Document): Document {
  const pointers = pointersIn(document);
  let dropped = false;
  const components = Object.fromEntries(
    Object.entries(document.components).map(([kind, members]) => {
      const kept = Object.entries(members).filter(
        ([name]) => !POINTED_AT.has(kind) || pointers.has(`#/components/${kind}/${name}`),
      );
      dropped ||= kept.length < Object.keys(members).length;
      return [kind, Object.fromEntries(kept)];
    }),
  );
  // What was pointed at only from a dropped part goes in the next round.
  return dropped ? pruneComponents({ ...document, components }) : document;
}

function pointersIn(document: unknown): ReadonlySet<string> {
  const pointers = new Set<string>();
  JSON.stringify(document, (key, value) => {
    if (key === '$ref') pointers.add(value);
    return value;
  });
  return pointers;
}
