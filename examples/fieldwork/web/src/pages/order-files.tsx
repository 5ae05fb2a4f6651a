/** Photos and documents of an order: added with their progress, looked at, kept, removed. */

import type { AttachmentEntry, AttachmentList } from '@freehold/app/wire';
import { type ChangeEvent, useEffect, useId, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Button, Card, ErrorNote, LoadError } from '../components/basics.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Icon } from '../components/icon.tsx';
import { get, type Order, post } from '../lib/api.ts';
import { formatBytes, formatMoment } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';
import { type Upload, type Uploads, useUploads } from '../lib/use-uploads.ts';

const TITLE = 'Photos and documents';

interface FilesProps {
  readonly order: Order;
  readonly version: string | null;
  readonly mayAdd: boolean;
  readonly mayRemove: boolean;
  /** Told after every change, for each is part of the order's story. */
  readonly onChanged: () => void;
}

export function OrderFiles({ order, version, ...rights }: FilesProps) {
  if (order.customer.erased)
    return (
      <Card title={TITLE}>
        <p className="quiet">What was attached was erased with the customer.</p>
      </Card>
    );
  return <Files order={order} version={version} {...rights} />;
}

function Files({ order, version, mayAdd, mayRemove, onChanged }: FilesProps) {
  const path = `/api/orders/${order.id}/attachments`;
  const announce = useAnnounce();
  const files = useLoad<AttachmentList>(`files ${order.id}`, (signal) => get(path, { signal }));
  const { reload } = files;
  const [shown, setShown] = useState(version);
  useEffect(() => {
    if (version === shown) return;
    setShown(version);
    reload();
  }, [version, shown, reload]);
  const uploads = useUploads(path, {
    bytesMax: files.data?.bytesMax ?? Number.POSITIVE_INFINITY,
    onSent: (file) => {
      announce(`${file.name} is attached.`);
      reload();
      onChanged();
    },
  });
  const [removing, setRemoving] = useState<AttachmentEntry | null>(null);
  const items = files.data?.items ?? [];

  return (
    <Card title={TITLE} action={mayAdd && <Chooser onChosen={uploads.add} />}>
      {files.error && <LoadError error={files.error} retry={reload} />}
      <Sending uploads={uploads} />
      {files.data && items.length === 0 && uploads.items.length === 0 && (
        <p className="quiet">Nothing is attached yet.</p>
      )}
      <ul className="files" aria-label={TITLE}>
        {items.map((file) => (
          <FileRow
            key={file.id}
            file={file}
            path={`${path}/${file.id}`}
            {...(mayRemove && { onRemove: () => setRemoving(file) })}
          />
        ))}
      </ul>
      {removing && (
        <RemoveFile
          file={removing}
          path={`${path}/${removing.id}/remove`}
          onClose={() => setRemoving(null)}
          onDone={() => {
            setRemoving(null);
            reload();
            onChanged();
          }}
        />
      )}
    </Card>
  );
}

/** The browser's own field: it has the keyboard, the screen reader and the camera of a phone for nothing. */
function Chooser({ onChosen }: { onChosen: (files: readonly File[]) => void }) {
  const id = useId();
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    onChosen([...(target.files ?? [])]);
    // The same file can be chosen again, for instance after it was removed.
    target.value = '';
  };
  return (
    <span className="chooser">
      <input id={id} type="file" multiple className="visually-hidden" onChange={choose} />
      <label htmlFor={id} className="button button-plain">
        <Icon name="clip" /> <span>Add photos or files</span>
      </label>
    </span>
  );
}

function Sending({ uploads }: { uploads: Uploads }) {
  if (uploads.items.length === 0) return null;
  return (
    <ul className="uploads" aria-label="Being sent">
      {uploads.items.map((item) => (
        <SendingRow
          key={item.key}
          item={item}
          onRetry={() => uploads.retry(item.key)}
          onDrop={() => uploads.drop(item.key)}
        />
      ))}
    </ul>
  );
}

function SendingRow({ item, onRetry, onDrop }: { item: Upload; onRetry: () => void; onDrop: () => void }) {
  const { file, fraction, error } = item;
  return (
    <li>
      <div className="upload-head">
        <span className="upload-name">{file.name}</span>
        <button
          type="button"
          className="icon-button"
          aria-label={error ? `Forget ${file.name}` : `Stop sending ${file.name}`}
          onClick={onDrop}
        >
          <Icon name="cross" />
        </button>
      </div>
      {!error && <progress max={1} value={fraction} aria-label={`Sending ${file.name}`} />}
      <ErrorNote error={error}>
        {error && error.code !== 'payload_too_large' && <Button onClick={onRetry}>Try again</Button>}
      </ErrorNote>
    </li>
  );
}

function FileRow({ file, path, onRemove }: { file: AttachmentEntry; path: string; onRemove?: () => void }) {
  const { me } = useSession();
  const who = file.by.principal === me.principal ? 'You' : (file.by.name ?? 'A former teammate');
  return (
    <li>
      <span className="file-picture">
        {file.image ? <img src={`${path}?show=inline`} alt="" loading="lazy" /> : <Icon name="file" />}
      </span>
      <span className="file-main">
        {file.image ? (
          <a href={`${path}?show=inline`} target="_blank" rel="noopener">
            {file.filename}
          </a>
        ) : (
          <a href={path} download={file.filename}>
            {file.filename}
          </a>
        )}
        <small>
          {formatBytes(file.bytes)} · {who}, <time dateTime={file.at}>{formatMoment(file.at)}</time>
        </small>
      </span>
      <a
        className="icon-button"
        href={path}
        download={file.filename}
        aria-label={`Download ${file.filename}`}
      >
        <Icon name="save" />
      </a>
      {onRemove && (
        <button
          type="button"
          className="icon-button"
          aria-label={`Remove ${file.filename}`}
          onClick={onRemove}
        >
          <Icon name="cross" />
        </button>
      )}
    </li>
  );
}

function RemoveFile({
  file,
  path,
  onClose,
  onDone,
}: {
  file: AttachmentEntry;
  path: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const announce = useAnnounce();
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      await post(path);
      onDone();
      announce(`${file.filename} is removed.`);
    });
  return (
    <Dialog
      title={`Remove ${file.filename}?`}
      submit="Remove"
      danger
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <p>Nobody can look at it any more. The history keeps that it was there.</p>
    </Dialog>
  );
}
