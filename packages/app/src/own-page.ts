/** The properties of a page of one's own in the place of one of records: the entry `@freehold/app/pages`, of types alone. */
import type { Declaration } from './wire/declared.ts';

export type { DeclaredField, DeclaredKind, DeclaredOperation } from './wire/declared.ts';

/**
 * Given to the component that is the default export of a page (`web: { 'item/:id': './web/item.tsx' }`).
 * @template Node `ReactNode` of React: this package has no types of it.
 */
export interface OwnPageProps<Node = unknown> {
  /** The type of records; null on the first page. */
  readonly type: string | null;
  /** The id in the address; null on the first page, lists and forms of new records. */
  readonly id: string | null;
  /** The page whose place it takes, to be shown as a part of it. */
  readonly supplied: Node;
  /** The types of records and the operations that the reader may use. */
  readonly declaration: Declaration;
  /** The language of the page: `en` or `de`. */
  readonly language: string;
  /**
   * Calls the API, with a JSON body where one is given, and returns the answer. Default method: POST with a body, else GET.
   * @throws Error with the sentence of the refusal.
   */
  readonly ask: <T>(
    path: string,
    options?: { readonly method?: string; readonly body?: unknown },
  ) => Promise<T>;
  /** Shows a sentence at the top of the page. */
  readonly notify: (text: string) => void;
  /** Goes to another page without a load: `/items/itm_…`. */
  readonly navigate: (to: string) => void;
}
