/* Lets the n-th system call that writes below a folder fail, or the process die there.

   Loaded by LD_PRELOAD. Python, SQLite and every library call the functions below through the dynamic linker, so that
   all writes of a process are seen, except stores to the shared memory of a write-ahead log. Calls are counted in shared
   memory, across forks, from `fault_begin` on. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ADDS = 1, CHANGES = 2, LOCKS = 4 }; /* a call that needs room on the disk, that changes what is there, that locks */

static struct {
    long point, calls;
    int error, persists, classes; /* error 0: the process is killed */
    char folder[512], where[512];
} *plan;
static int is_armed;

void fault_plan(long point, int error, int persists, int classes, const char *folder)
{
    if (!plan)
        plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(plan, 0, sizeof *plan);
    plan->point = point, plan->error = error, plan->persists = persists, plan->classes = classes;
    strncpy(plan->folder, folder, sizeof plan->folder - 1);
}

void fault_begin(void) { is_armed = 1; }
long fault_calls(void) { return plan->calls; }
const char *fault_where(void) { return plan->where; }

/* Whether this call is one that fails. A relative path is below the folder: only a walk of it has an open folder. */
static int is_due(const char *name, int class, int descriptor, const char *path)
{
    char link[64], target[PATH_MAX];
    if (!is_armed || !(plan->classes & class))
        return 0;
    if (!path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t size = readlink(link, target, sizeof target - 1);
        target[size > 0 ? size : 0] = 0;
        path = target;
        if (*path != '/')
            return 0;
    }
    if (*path == '/' && strncmp(path, plan->folder, strlen(plan->folder)))
        return 0;
    long call = __sync_add_and_fetch(&plan->calls, 1);
    if (call == plan->point)
        snprintf(plan->where, sizeof plan->where, "%s %.400s", name, *path == '/' ? path + strlen(plan->folder) : path);
    return plan->point && (call == plan->point || (plan->persists && call > plan->point));
}

static int end(void)
{
    if (!plan->error)
        kill(getpid(), SIGKILL);
    errno = plan->error;
    return -1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A write that is cut off: half of it is in the file when the process dies. */
#define WRITES(name, parameters, half, arguments) \
    ssize_t name parameters { REAL(name); \
        if (!is_due(#name, ADDS, descriptor, NULL)) return real arguments; \
        if (!plan->error && size > 1) real half; \
        return end(); }

WRITES(write, (int descriptor, const void *from, size_t size), (descriptor, from, size / 2), (descriptor, from, size))
WRITES(pwrite, (int descriptor, const void *from, size_t size, off_t at), (descriptor, from, size / 2, at), (descriptor, from, size, at))
WRITES(pwrite64, (int descriptor, const void *from, size_t size, off64_t at), (descriptor, from, size / 2, at), (descriptor, from, size, at))
WRITES(sendfile, (int descriptor, int in, off_t *at, size_t size), (descriptor, in, at, size / 2), (descriptor, in, at, size))
WRITES(sendfile64, (int descriptor, int in, off64_t *at, size_t size), (descriptor, in, at, size / 2), (descriptor, in, at, size))
WRITES(writev, (int descriptor, const struct iovec *from, int size), (descriptor, from, size / 2), (descriptor, from, size))

#define CALL(type, name, class, descriptor, path, parameters, arguments) \
    type name parameters { REAL(name); return is_due(#name, class, descriptor, path) ? end() : real arguments; }

CALL(ssize_t, copy_file_range, ADDS, out, NULL, (int in, off64_t *a, int out, off64_t *b, size_t size, unsigned flags), (in, a, out, b, size, flags))
CALL(int, fsync, ADDS, descriptor, NULL, (int descriptor), (descriptor))
CALL(int, fdatasync, ADDS, descriptor, NULL, (int descriptor), (descriptor))
CALL(int, ftruncate, CHANGES, descriptor, NULL, (int descriptor, off_t size), (descriptor, size))
CALL(int, ftruncate64, CHANGES, descriptor, NULL, (int descriptor, off64_t size), (descriptor, size))
CALL(int, fallocate, ADDS, descriptor, NULL, (int descriptor, int mode, off_t at, off_t size), (descriptor, mode, at, size))
CALL(int, fallocate64, ADDS, descriptor, NULL, (int descriptor, int mode, off64_t at, off64_t size), (descriptor, mode, at, size))
CALL(int, fchmod, CHANGES, descriptor, NULL, (int descriptor, mode_t mode), (descriptor, mode))
CALL(int, flock, LOCKS, descriptor, NULL, (int descriptor, int operation), (descriptor, operation))
CALL(int, chmod, CHANGES, 0, path, (const char *path, mode_t mode), (path, mode))
CALL(int, fchmodat, CHANGES, 0, path, (int folder, const char *path, mode_t mode, int flags), (folder, path, mode, flags))
CALL(int, mkdir, ADDS, 0, path, (const char *path, mode_t mode), (path, mode))
CALL(int, mkdirat, ADDS, 0, path, (int folder, const char *path, mode_t mode), (folder, path, mode))
CALL(int, rename, ADDS, 0, to, (const char *from, const char *to), (from, to))
CALL(int, renameat, ADDS, 0, to, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(int, link, ADDS, 0, to, (const char *from, const char *to), (from, to))
CALL(int, symlink, ADDS, 0, to, (const char *from, const char *to), (from, to))
CALL(int, unlink, CHANGES, 0, path, (const char *path), (path))
CALL(int, unlinkat, CHANGES, 0, path, (int folder, const char *path, int flags), (folder, path, flags))
CALL(int, rmdir, CHANGES, 0, path, (const char *path), (path))
CALL(int, utimensat, CHANGES, 0, path, (int folder, const char *path, const struct timespec times[2], int flags), (folder, path, times, flags))

/* Opening counts only where it may create a file. */
#define OPENS(name, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
        return flags & O_CREAT && is_due(#name, ADDS, 0, path) ? end() : real arguments; }

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPENS(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

/* SQLite's locks. */
#define CONTROLS(name) \
    int name(int descriptor, int command, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, command); void *value = va_arg(rest, void *); va_end(rest); \
        int locks = command == F_SETLK && ((struct flock *)value)->l_type != F_UNLCK; \
        return locks && is_due(#name, LOCKS, descriptor, NULL) ? end() : real(descriptor, command, value); }

CONTROLS(fcntl)
CONTROLS(fcntl64)
