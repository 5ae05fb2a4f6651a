/** A list that grows by a page at a time. */
import { type ReactNode, useState } from 'react';
import { useAction } from '../lib/use-action.ts';
import type { Loaded } from '../lib/use-load.ts';
import { Button, ErrorNote, PageError, Skeleton } from './basics.tsx';

/** A page of a list, as every list answers it. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/** A list as the main thing of a page: while it loads, when that fails, when there is nothing, and what there is. */
export function LoadedPages<T>({
  name,
  loaded,
  more,
  empty,
  children,
}: {
  /** The plural of the listed things, within a sentence: `customers`. */
  name: string;
  loaded: Pick<Loaded<Page<T>>, 'data' | 'error' | 'reload'>;
  more: (cursor: string) => Promise<Page<T>>;
  empty: ReactNode;
  children: (items: readonly T[]) => ReactNode;
}) {
  const { data, error, reload } = loaded;
  if (error) return <PageError error={error} retry={reload} />;
  if (!data) return <Skeleton lines={5} label={`Loading ${name}`} />;
  if (data.items.length === 0) return empty;
  return (
    <Pages first={data} more={more}>
      {children}
    </Pages>
  );
}

/** A list that grows: its first page comes from above, the others when they are asked for. */
export function Pages<T>({
  first,
  more,
  children,
}: {
  first: Page<T>;
  more: (cursor: string) => Promise<Page<T>>;
  children: (items: readonly T[]) => ReactNode;
}) {
  const [later, setLater] = useState<Page<T> | null>(null);
  const [base, setBase] = useState(first);
  const action = useAction();
  // Later pages belong to the first page that they follow: after a new first page they start again.
  if (base !== first) {
    setBase(first);
    setLater(null);
  }
  const nextCursor = later ? later.nextCursor : first.nextCursor;
  const grow = () =>
    action.run(async () => {
      if (nextCursor === null) return;
      const page = await more(nextCursor);
      setLater((before) => ({
        items: [...(before?.items ?? []), ...page.items],
        nextCursor: page.nextCursor,
      }));
    });
  return (
    <>
      {children([...first.items, ...(later?.items ?? [])])}
      <ErrorNote error={action.error} />
      {nextCursor !== null && (
        <Button className="more" busy={action.busy} onClick={() => void grow()}>
          Show more
        </Button>
      )}
    </>
  );
}
