/**
 * Workspaces and their routes. They are read again only when the directory's version has changed, because each workspace
 * takes a command and a page of the console asks every few seconds.
 */
import type { Directory, RouteRecord, WorkspaceRecord } from '@sluice/shared/directory/directory';

export type ListedWorkspace = WorkspaceRecord & { routes: ReadonlyMap<string, RouteRecord> };

export class DirectorySnapshot {
  #version: string | undefined;
  #workspaces: Promise<ListedWorkspace[]> = Promise.resolve([]);

  constructor(private readonly directory: Directory) {}

  /** Sorted by id. The answer has every change that was made before the question. */
  async read(): Promise<ListedWorkspace[]> {
    const version = await this.directory.version();
    if (version !== this.#version) {
      this.#version = version;
      this.#workspaces = this.#list();
      this.#workspaces.catch(() => {
        this.#version = undefined;
      });
    }
    return this.#workspaces;
  }

  async #list(): Promise<ListedWorkspace[]> {
    const workspaces = await this.directory.listWorkspaces();
    return Promise.all(
      workspaces.map(async (workspace) => ({
        ...workspace,
        routes: await this.directory.listRoutes(workspace.id),
      })),
    );
  }
}
