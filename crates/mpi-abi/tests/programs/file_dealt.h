/* A filetype that deals a file to all ranks. */

/* Returns a filetype for rank `of`: `blocks` blocks of a file whose blocks are dealt to the ranks in turn. */
static inline MPI_Datatype dealt(int block, int blocks, int of)
{
    MPI_Datatype vector, moved, made;
    int one = 1;
    MPI_Aint place = (MPI_Aint)of * block * sizeof(int);
    MPI_Type_vector(blocks, block, block * size, MPI_INT, &vector);
    MPI_Type_create_hindexed(1, &one, &place, vector, &moved);
    MPI_Type_create_resized(moved, 0, (MPI_Aint)blocks * block * size * sizeof(int), &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&vector);
    MPI_Type_free(&moved);
    return made;
}
