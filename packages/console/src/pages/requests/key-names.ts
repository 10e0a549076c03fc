import type { DirectoryOverview } from '@sluice/shared/admin-api';

/** Names a key by its id: by name and last four characters, or by the id when the key is gone. */
export function keyNames(directory: DirectoryOverview | undefined): (id: string) => string {
  const names = new Map(directory?.keys.map(({ id, name, last_four }) => [id, `${name} …${last_four}`]));
  return (id) => (id === 'admin-playground' ? 'playground' : (names.get(id) ?? id));
}
