/** A list that grows by a page at a time. */
import { type ReactNode, useState } from 'react';
import { useAction } from '../lib/use-action.ts';
import { Button, ErrorNote } from './basics.tsx';

/** A page of a list, as every list answers it. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
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
  // What follows belongs to the page it followed: after a new first page it starts again.
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
